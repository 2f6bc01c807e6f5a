package egress

import "time"

// Party is one of those that a delivery goes by, of which one may fail.
type Party string

// The parties, in the order a delivery meets them.
const (
	Proxy Party = "proxy" // the SOCKS5 proxy for onion services
	Onion Party = "onion" // Tor's network and the onion service, up to a connection
	Name  Party = "name"  // who knows the host's name
	Host  Party = "host"  // the host itself, up to a connection
	TLS   Party = "TLS"   // its certificate, or what it speaks instead of TLS
	Relay Party = "relay" // whoever answers there
)

// Failure says which party kept something from being delivered. It may have
// arrived all the same, if the party is the relay.
type Failure struct {
	Party      Party
	Message    string        // one plain sentence, for a stranger: it tells no address
	Status     int           // that the relay answered with; 0 if it did not
	RetryAfter time.Duration // that the relay asked for; 0 if it did not
	Cause      error         // for the log: it may tell more; may be nil
}

// Error is the sentence, and the cause behind it.
func (f *Failure) Error() string {
	if f.Cause == nil {
		return f.Message
	}
	return f.Message + ": " + f.Cause.Error()
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Cause }

func failed(party Party, message string, cause error) *Failure {
	return &Failure{Party: party, Message: message, Cause: cause}
}
