package webhook

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/storage"
)

const (
	// maxHooks is how many addresses may be registered.
	maxHooks = 10_000
	// hooksLimit bounds the body that names them, in bytes: each twice, with space.
	hooksLimit = 2 << 20
)

// register replaces the registered addresses: {"hooks":["<hex SHA-256 of id>"]}, and
// with "deadlines":{"<the same>":seconds} how long senders to some of them wait.
func (d *Door) register(w http.ResponseWriter, r *http.Request) error {
	body, err := door.Body(r, hooksLimit)
	if err != nil {
		return err
	}
	addresses, err := parseAddresses(body)
	if err != nil {
		return err
	}
	if err := d.Box.Register(r.Context(), addresses); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// parseAddresses reads the body of a register call. One that does not say which
// addresses there are is a 400: it must not be taken for none.
func parseAddresses(body []byte) ([]hookbox.Address, error) {
	var hooks, deadlines jsontext.Value
	err := door.Object(body, func(name string, value jsontext.Value) {
		switch name {
		case "hooks":
			hooks = value
		case "deadlines":
			deadlines = value
		}
	})
	if err != nil {
		return nil, err
	}
	addresses, err := parseHooks(hooks)
	if err != nil || deadlines == nil {
		return addresses, err
	}
	return addresses, parseDeadlines(deadlines, addresses)
}

func parseHooks(hooks jsontext.Value) (addresses []hookbox.Address, err error) {
	good := true
	ok := door.Strings(hooks, func(text string) {
		hook, is := parseHook(text)
		if good = good && is; good && len(addresses) <= maxHooks {
			addresses = append(addresses, hookbox.Address{Hook: hook})
		}
	})
	if !ok || !good {
		return nil, badRequest("hooks must be an array of SHA-256 hashes in hex")
	}
	if len(addresses) > maxHooks {
		return nil, badRequest(fmt.Sprintf("hooks are more than %d", maxHooks))
	}
	return addresses, nil
}

func parseHook(text string) (hook storage.Hook, ok bool) {
	if len(text) != hex.EncodedLen(len(hook)) {
		return storage.Hook{}, false
	}
	_, err := hex.Decode(hook[:], []byte(text))
	return hook, err == nil
}

// parseDeadlines gives some of the addresses a wait of their own.
func parseDeadlines(deadlines jsontext.Value, addresses []hookbox.Address) error {
	place := make(map[storage.Hook]int, len(addresses))
	for i, a := range addresses {
		place[a.Hook] = i
	}
	good := true
	err := door.Object(deadlines, func(name string, value jsontext.Value) {
		hook, is := parseHook(name)
		i, registered := place[hook]
		wait, ok := parseWait(value)
		if good = good && is && registered && ok; good {
			addresses[i].Wait = wait
		}
	})
	if err != nil || !good {
		return badRequest(fmt.Sprintf("deadlines must give hashes of hooks seconds above 0, up to %v", hookbox.LongestWait.Seconds()))
	}
	return nil
}

// parseWait reads seconds, which may have a fraction.
func parseWait(value jsontext.Value) (time.Duration, bool) {
	if value.Kind() != jsontext.KindNumber {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(string(value), 64)
	if err != nil || seconds <= 0 || seconds > hookbox.LongestWait.Seconds() {
		return 0, false
	}
	return max(time.Duration(seconds*float64(time.Second)), 1), true
}
