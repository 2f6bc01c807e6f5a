package didcomm

import (
	"net/http"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/storage"
)

// challenge issues one (relay spec §2.3). HEAD sees none, so it takes none from
// those who do.
func (d *Door) challenge(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	to, bound, err := boundTo(r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		return nil
	}
	var answer struct {
		Challenge string `json:"challenge"`
		Audience  string `json:"audience,omitempty"`
	}
	if bound {
		answer.Audience = d.Endpoint
		answer.Challenge, err = d.Gate.BoundChallenge(r.Context(), to, holders(d.Holders, r)...)
	} else {
		answer.Challenge, err = d.Gate.Challenge(r.Context(), holders(d.Holders, r)...)
	}
	if err != nil {
		return err
	}
	return door.JSON(w, http.StatusOK, answer)
}

// boundTo is the one DID that a challenge is asked for, if it is for one.
func boundTo(r *http.Request) (to did.ID, bound bool, err error) {
	named, bound := r.URL.Query()["did"]
	if !bound {
		return "", false, nil
	}
	if len(named) > 1 {
		return "", false, badRequest("did may be there once")
	}
	to, err = did.Parse(named[0])
	return to, true, err
}

// next returns what issues the challenge for the caller's next call, "" if none is
// asked for. One that is refused is left out: the call itself has succeeded, and a
// caller without it asks for one as ever.
func (d *Door) next(r *http.Request, asked bool, spent auth.Spent, owner did.ID) func() string {
	return func() string {
		if !asked {
			return ""
		}
		challenge, err := d.Gate.NextChallenge(r.Context(), spent, owner, holders(d.Holders, r)...)
		if err != nil {
			return ""
		}
		return challenge
	}
}

// holders are those to whom something counts that r asks for.
func holders(of func(*http.Request) []storage.Holder, r *http.Request) []storage.Holder {
	if of == nil {
		return nil
	}
	return of(r)
}
