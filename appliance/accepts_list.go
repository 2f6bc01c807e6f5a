package appliance

import (
	"math"
	"slices"
	"strings"
)

// someOf takes some of names, each once, in any order, with commas between them.
func someOf(field func(*Config) *[]string, names ...string) accepts {
	return accepts{
		"some of " + strings.Join(names, ",") + ", each once",
		func(c *Config, text string) bool {
			var list []string
			for name := range strings.SplitSeq(text, ",") {
				name = strings.TrimSpace(name)
				if !slices.Contains(names, name) || slices.Contains(list, name) {
					return false
				}
				list = append(list, name)
			}
			*field(c) = list
			return true
		},
	}
}

// ports takes port numbers with commas between them.
func ports(field func(*Config) *[]uint16) accepts {
	return accepts{
		"ports such as 443,8443",
		func(c *Config, text string) bool {
			var list []uint16
			for port := range strings.SplitSeq(text, ",") {
				n, ok := digits(strings.TrimSpace(port))
				if !ok || n < 1 || n > math.MaxUint16 {
					return false
				}
				list = append(list, uint16(n))
			}
			*field(c) = list
			return true
		},
	}
}
