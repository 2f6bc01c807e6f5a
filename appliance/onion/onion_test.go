package onion_test

import (
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/onion"
)

// Names that everybody may look up: a search engine's and the Tor project's.
const (
	duck = "duckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion"
	tor  = "2gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu3zzui5du4xyclen53wid.onion"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name, host string
		want       bool
	}{
		{"a search engine's", duck, true},
		{"the Tor project's", tor, true},
		{"in capitals", strings.ToUpper(tor), true},
		{"one letter mistyped", "e" + duck[1:], false},
		{"two letters swapped", "3gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu2zzui5du4xyclen53wid.onion", false},
		{"another version", duck[:55] + "c.onion", false},
		{"a letter that base32 has not", "1" + duck[1:], false},
		{"a line's end amid it", duck[:20] + "\n" + duck[21:], false},
		{"more than ASCII, as long once lower", "ſ" + duck[2:], false},
		{"version 2", "expyuzz4wqqyqhjn.onion", false},
		{"too long", "a" + duck, false},
		{"a label before it", "www." + duck, false},
		{"a port", duck + ":80", false},
		{"a dot at its end", duck + ".", false},
		{"without its end", strings.TrimSuffix(duck, ".onion"), false},
		{"a host name", "relay.example", false},
		{"nothing", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := onion.Valid(tt.host); got != tt.want {
				t.Errorf("Valid(%q) = %v, want %v", tt.host, got, tt.want)
			}
		})
	}
}

func TestNamesBelowOne(t *testing.T) {
	for host, want := range map[string]bool{
		duck: true, "www." + duck: true, "a.b." + strings.ToUpper(duck): true,
		"www" + duck: false, duck + ".": false, duck + ".onion": false, duck + ".example": false,
		"onion": false, ".onion": false, "www.e" + duck[1:]: false, "": false,
	} {
		if got := onion.Leads(host); got != want {
			t.Errorf("Leads(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestWhatTorAloneCanFind(t *testing.T) {
	for host, want := range map[string]bool{
		duck: true, "abc.onion": true, "ABC.Onion.": true, "onion": true, "Onion.": true, "www." + duck: true,
		"abc.onion.example": false, "abconion": false, "onion.example": false, "": false, ".": false,
	} {
		if got := onion.Is(host); got != want {
			t.Errorf("Is(%q) = %v, want %v", host, got, want)
		}
	}
}
