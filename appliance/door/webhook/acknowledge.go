package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/door"
)

const (
	// ackLimit bounds the body of an acknowledgement, in bytes: an answer as large as
	// may be, however it is quoted, and more.
	ackLimit = 4 << 20
	// maxAcks is how many ids it may name, and how many answers it may have.
	maxAcks = 1000
	// answerLimit bounds the body of an answer, in bytes.
	answerLimit = 1 << 20
)

// acknowledge lets deliveries go, and gives those who wait the answers to theirs.
func (d *Door) acknowledge(w http.ResponseWriter, r *http.Request) error {
	body, err := door.Body(r, ackLimit)
	if err != nil {
		return err
	}
	ids, answers, err := parseAck(body)
	if err != nil {
		return err
	}
	acked, err := d.Box.Acknowledge(r.Context(), ids, answers)
	if err != nil {
		return err
	}
	return door.JSON(w, http.StatusOK, struct {
		Acked int `json:"acked"`
	}{acked})
}

// parseAck reads {"ids":[...],"answers":{"<id>":{"status","headers","body"}}}. Either
// may be left out. If anything of it is wrong, all of it is refused.
func parseAck(body []byte) (ids []string, answers map[string]delivery.Response, err error) {
	var named, said jsontext.Value
	err = door.Object(body, func(name string, value jsontext.Value) {
		switch name {
		case "ids":
			named = value
		case "answers":
			said = value
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if ids, err = parseIDs(named); err != nil {
		return nil, nil, err
	}
	answers, err = parseAnswers(said)
	return ids, answers, err
}

func parseIDs(named jsontext.Value) (ids []string, err error) {
	if named == nil {
		return nil, nil
	}
	good := true
	ok := door.Strings(named, func(id string) {
		if good = good && len(id) <= maxID && len(ids) < maxAcks; good {
			ids = append(ids, id)
		}
	})
	if !ok || !good {
		return nil, badRequest(fmt.Sprintf("ids must be an array of ids of deliveries, %d at most", maxAcks))
	}
	return ids, nil
}

func parseAnswers(said jsontext.Value) (answers map[string]delivery.Response, err error) {
	if said == nil {
		return nil, nil
	}
	answers = map[string]delivery.Response{}
	var wrong error
	err = door.Object(said, func(id string, value jsontext.Value) {
		if wrong == nil {
			answers[id], wrong = parseAnswer(value)
		}
		if len(id) > maxID || len(answers) > maxAcks {
			wrong = fmt.Errorf("want ids of deliveries, %d at most", maxAcks)
		}
	})
	if err != nil {
		return nil, badRequest("answers must be an object")
	}
	if wrong != nil {
		return nil, badRequest(fmt.Sprintf("answers: %v", wrong))
	}
	return answers, nil
}

func parseAnswer(value jsontext.Value) (answer delivery.Response, err error) {
	if err := json.Unmarshal(value, &answer); err != nil {
		return delivery.Response{}, err
	}
	if len(answer.Body) > answerLimit {
		return delivery.Response{}, fmt.Errorf("a body is over the limit of %d bytes", answerLimit)
	}
	return answer, nil
}
