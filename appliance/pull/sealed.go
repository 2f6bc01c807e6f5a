package pull

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"time"

	"github.com/go-json-experiment/json/jsontext"
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
	in := jsontext.NewDecoder(io.LimitReader(body, maxAnswer), jsontext.AllowDuplicateNames(true))
	if in.PeekKind() != jsontext.KindBeginObject {
		return nil, errBatch
	}
	in.ReadToken()
	for in.PeekKind() == jsontext.KindString {
		name, err := in.ReadToken()
		switch {
		case err != nil:
			return nil, err
		case name.String() != "deliveries":
			err = in.SkipValue()
		default:
			batch, err = readDeliveries(in, most)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err = in.ReadToken()
	return batch, err
}

func readDeliveries(in *jsontext.Decoder, most int) (batch []sealed, err error) {
	if in.PeekKind() != jsontext.KindBeginArray {
		return nil, errBatch
	}
	in.ReadToken()
	for in.PeekKind() == jsontext.KindBeginObject {
		if len(batch) == most {
			return nil, errors.New("it hands out more than it was asked for")
		}
		value, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		var s sealed
		if err := json.Unmarshal(value, &s); err != nil {
			return nil, err
		}
		if !deliveryID.MatchString(s.ID) {
			return nil, errors.New("it hands out a delivery whose id is none")
		}
		batch = append(batch, s)
	}
	if end, err := in.ReadToken(); err != nil || end.Kind() != jsontext.KindEndArray {
		return nil, errors.Join(errBatch, err)
	}
	return batch, nil
}
