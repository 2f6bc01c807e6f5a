package appliance

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	domainName   = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	emailAddress = regexp.MustCompile(`^[^\s@,?]+@[^\s@,?]+$`)
)

// domains takes host names with commas between them.
func domains(field func(*Config) *[]string) accepts {
	return accepts{
		"a host name such as mail.example.org, or several with commas between them",
		func(c *Config, text string) bool {
			for name := range strings.SplitSeq(strings.ToLower(text), ",") {
				name = strings.TrimSpace(name)
				if len(name) > 253 || !domainName.MatchString(name) {
					return false
				}
				*field(c) = append(*field(c), name)
			}
			return true
		},
	}
}

// file takes any path and makes it absolute.
func file(field func(*Config) *string) accepts {
	return accepts{
		"a file in PEM",
		func(c *Config, text string) bool {
			path, err := filepath.Abs(text)
			*field(c) = path
			return err == nil && text != "" && !strings.ContainsRune(text, 0)
		},
	}
}

// yes takes that word alone.
func yes(field func(*Config) *bool) accepts {
	return accepts{"yes, or nothing", func(c *Config, text string) bool {
		*field(c) = text == "yes"
		return text == "yes"
	}}
}

// email takes what looks like an address.
func email(field func(*Config) *string) accepts {
	return accepts{"an e-mail address", func(c *Config, text string) bool {
		*field(c) = text
		return emailAddress.MatchString(text)
	}}
}

// contradictions names what is missing for a certificate, or too much. Settings
// in bad were refused already. port is the relay's own.
func (h HTTPS) contradictions(port uint16, bad map[string]bool) (errs []error) {
	const (
		cert, key      = "HOLDMAIL_TLS_CERT", "HOLDMAIL_TLS_KEY"
		domain, terms  = "HOLDMAIL_ACME_DOMAIN", "HOLDMAIL_ACME_ACCEPT_TERMS"
		challenge, own = "HOLDMAIL_ACME_HTTP_PORT", "ARCHON_DIDCOMM_PORT"
	)
	wrong := func(is bool, one, two, why string) {
		if is && !bad[one] && !bad[two] {
			errs = append(errs, fmt.Errorf("%s %s", named(one), fmt.Sprintf(why, named(two))))
		}
	}
	acme := len(h.Domains) > 0
	wrong(h.CertFile != "" && h.KeyFile == "", cert, key, "is set and %s is not: want both or none")
	wrong(h.CertFile == "" && h.KeyFile != "", key, cert, "is set and %s is not: want both or none")
	wrong((h.CertFile != "" || h.KeyFile != "") && acme, cert, domain, "and %s are two ways to a certificate: want one")
	wrong(acme && !h.AcceptTerms, domain, terms, "is set and %s is not: want yes, once you have read the terms of the ACME server")
	wrong(!acme && h.ChallengePort != 0, challenge, domain, "is set and %s is not: want a domain, or no port for challenges")
	wrong(h.ChallengePort != 0 && h.ChallengePort == port, challenge, own, "and %s are one port: want two")
	return errs
}
