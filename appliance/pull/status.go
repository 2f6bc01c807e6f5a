package pull

import "time"

// Status is how a Pull stands.
type Status struct {
	Said           time.Time `json:"said"`              // when this was
	Heard          time.Time `json:"heard"`             // when the relay answered last
	Handed         time.Time `json:"handed"`            // when a delivery was handed over last
	Trouble        string    `json:"trouble,omitempty"` // with the relay or the ledger, now
	Handler        string    `json:"handler,omitempty"` // trouble with the handler, now
	RefusedForTime int       `json:"refusedForTime"`    // deliveries at the relay whose time cannot be
	TimeOff        string    `json:"timeOff,omitempty"` // by how much one of them is off
	LedgerBytes    int64     `json:"ledgerBytes"`
	LedgerMax      int64     `json:"ledgerMax"`
}

// tell changes the status, and tells it.
func (p *Pull) tell(change func(*Status)) {
	change(&p.status)
	p.status.Said = p.Now()
	p.status.LedgerBytes, p.status.LedgerMax = p.Ledger.Bytes()
	if p.Tell != nil {
		p.Tell(p.status)
	}
}
