package pull

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"time"
)

// maxAnswer is in bytes: one delivery of 25 MiB, quoted and in base64.
const maxAnswer = 96 << 20

// sealed is a delivery as the relay hands it out.
type sealed struct {
	ID         string `json:"id"`
	Hook       string `json:"hook"`
	ReceivedAt int64  `json:"receivedAt"` // Unix milliseconds
	Sealed     []byte `json:"sealed"`
	Live       bool   `json:"live"` // its sender waits for the answer
}

func (s sealed) received() time.Time { return time.UnixMilli(s.ReceivedAt).UTC() }

// deliveryID is an id that may stand in a list, in a header and in the ledger.
var deliveryID = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,64}$`)

var errBatch = errors.New("want an object with deliveries in a list")

// readBatch reads {"deliveries":[...]}, one of them at a time, so that a relay
// cannot have memory taken for more than it was asked for.
func readBatch(body io.Reader, most int) (batch []sealed, err error) {
	in := json.NewDecoder(io.LimitReader(body, maxAnswer))
	if err := next(in, json.Delim('{')); err != nil {
		return nil, err
	}
	for in.More() {
		name, err := in.Token()
		switch {
		case err != nil:
			return nil, err
		case name != "deliveries":
			err = in.Decode(&json.RawMessage{})
		default:
			batch, err = readDeliveries(in, most)
		}
		if err != nil {
			return nil, err
		}
	}
	return batch, next(in, json.Delim('}'))
}

func readDeliveries(in *json.Decoder, most int) (batch []sealed, err error) {
	if err := next(in, json.Delim('[')); err != nil {
		return nil, err
	}
	for in.More() {
		if len(batch) == most {
			return nil, errors.New("it hands out more than it was asked for")
		}
		var s sealed
		if err := in.Decode(&s); err != nil {
			return nil, err
		}
		if !deliveryID.MatchString(s.ID) {
			return nil, errors.New("it hands out a delivery whose id is none")
		}
		batch = append(batch, s)
	}
	return batch, next(in, json.Delim(']'))
}

// next reads one token, which must be this one.
func next(in *json.Decoder, want json.Token) error {
	switch got, err := in.Token(); {
	case err != nil:
		return err
	case got != want:
		return errBatch
	default:
		return nil
	}
}
