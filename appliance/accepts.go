package appliance

import (
	"fmt"
	"log/slog"
	"math/big"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	sizeText = regexp.MustCompile(`^([0-9]{1,19})(\.[0-9]{1,9})?([kmg]b)?$`)
	hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)
	pathText = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)
)

// but adds a remark to what is wanted.
func (a accepts) but(remark string) accepts {
	a.want += " (" + remark + ")"
	return a
}

// number takes a whole decimal number from least to most, which T can hold.
func number[T int | int64 | uint16](least, most int64, field func(*Config) *T) accepts {
	return accepts{
		fmt.Sprintf("a whole number from %d to %d", least, most),
		func(c *Config, text string) bool {
			n, ok := digits(text)
			*field(c) = T(n)
			return ok && least <= n && n <= most
		},
	}
}

// milliseconds takes a whole number of them, up to most.
func milliseconds(most time.Duration, field func(*Config) *time.Duration) accepts {
	return accepts{
		fmt.Sprintf("a whole number from 1 to %d", most.Milliseconds()),
		func(c *Config, text string) bool {
			n, ok := digits(text)
			ok = ok && 1 <= n && n <= most.Milliseconds()
			if ok {
				*field(c) = time.Duration(n) * time.Millisecond
			}
			return ok
		},
	}
}

// digits reads digits only: no sign, no space, no other base.
func digits(text string) (n int64, ok bool) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// size takes what parseSize reads, from least to most bytes.
func size(least, most int64, field func(*Config) *int64) accepts {
	return accepts{
		fmt.Sprintf("a size such as 512kb, 1.5mb, 1gb or plain bytes, from %d to %d bytes", least, most),
		func(c *Config, text string) bool {
			n, ok := parseSize(text)
			*field(c) = n
			return ok && least <= n && n <= most
		},
	}
}

// parseSize reads a number of bytes: "1536", or with kb, mb or gb behind it in
// any case, powers of 1024, when it may have a fraction. A part of a byte is
// dropped. Anything else, "5m" and "5 mb" included, is no size.
func parseSize(text string) (bytes int64, ok bool) {
	m := sizeText.FindStringSubmatch(strings.ToLower(text))
	if m == nil || (m[2] != "" && m[3] == "") {
		return 0, false
	}
	exact, ok := new(big.Rat).SetString(m[1] + m[2])
	if !ok {
		return 0, false
	}
	unit := map[string]int64{"": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}[m[3]]
	exact.Mul(exact, new(big.Rat).SetInt64(unit))
	whole := new(big.Int).Quo(exact.Num(), exact.Denom())
	return whole.Int64(), whole.IsInt64()
}

// oneOf takes one of some words.
func oneOf(field func(*Config) *string, words ...string) accepts {
	return accepts{
		strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1],
		func(c *Config, text string) bool {
			*field(c) = text
			return slices.Contains(words, text)
		},
	}
}

// level takes the name of a log level.
func level(field func(*Config) *slog.Level) accepts {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	return accepts{
		"debug, info, warn or error",
		func(c *Config, text string) bool {
			l, ok := levels[text]
			*field(c) = l
			return ok
		},
	}
}

// host takes an IP address or a host name, without a port.
func host(field func(*Config) *string) accepts {
	return accepts{
		"an IP address or a host name, without a port",
		func(c *Config, text string) bool {
			*field(c) = text
			_, err := netip.ParseAddr(text)
			return err == nil || hostName.MatchString(text)
		},
	}
}

// webURL takes an http or https URL and drops the slashes it ends with.
func webURL(field func(*Config) *string) accepts {
	return accepts{
		"an http or https URL with a host, and without user, query or fragment",
		func(c *Config, text string) bool {
			*field(c) = strings.TrimRight(text, "/")
			u, err := url.Parse(text)
			return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
				u.User == nil && !strings.ContainsAny(text, "?#")
		},
	}
}

// basePath takes a path of plain segments; "/" is none at all.
func basePath(field func(*Config) *string) accepts {
	return accepts{
		"a path such as /didcomm, or / for none",
		func(c *Config, text string) bool {
			*field(c) = strings.TrimRight(text, "/")
			return text == "/" || pathText.MatchString(strings.TrimSuffix(text, "/"))
		},
	}
}

// folder takes any path and makes it absolute.
func folder(field func(*Config) *string) accepts {
	return accepts{
		"a folder",
		func(c *Config, text string) bool {
			path, err := filepath.Abs(text)
			*field(c) = path
			return err == nil && text != "" && !strings.ContainsRune(text, 0)
		},
	}
}
