package appliance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A crowd of large deliveries, each sent again when the relay has no memory for it,
// all arrive, under the memory budget that is the default.
func TestACrowdOfLargeDeliveriesArrives(t *testing.T) {
	const crowd, within = 200, 30 * time.Second
	c := testConfig(t)
	c.Hooks.Caps.Bytes, c.Hooks.Caps.HookBytes = 1<<30, 1<<30
	r := startHooks(t, c)
	defer r.stop()
	body := strings.Repeat("x", 1<<20)
	began := time.Now()
	var g sync.WaitGroup
	for range crowd {
		g.Go(func() {
			for time.Since(began) < within {
				answer, err := http.Post(r.url+"/hooks/"+hookID, "text/plain", strings.NewReader(body))
				if err != nil {
					continue // the refusal came before the body was out
				}
				answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					return
				}
				after, err := strconv.Atoi(answer.Header.Get("Retry-After"))
				if answer.StatusCode != http.StatusServiceUnavailable || err != nil {
					t.Errorf("%s, Retry-After %q", answer.Status, answer.Header.Get("Retry-After"))
					return
				}
				<-time.After(time.Duration(after) * time.Second)
			}
		})
	}
	g.Wait()
	t.Logf("%d deliveries in %v", crowd, time.Since(began))
	var status struct{ Depth int }
	r.home("GET", "/relay/v1/status", "", http.StatusOK, &status)
	if status.Depth < crowd {
		t.Errorf("%d deliveries arrived within %v, want %d", status.Depth, within, crowd)
	}
}

// BenchmarkDeliver compares deliveries of 64 senders at one time with deposits of the
// same size.
func BenchmarkDeliver(b *testing.B) {
	const senders = 64
	body := strings.Repeat("x", 2000)
	envelope, err := json.Marshal(map[string]any{"protected": "e30", "iv": "x", "tag": "x", "ciphertext": body, "recipients": []any{map[string]any{"header": map[string]string{"kid": "did:cid:ann#k"}}}})
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct{ name, path, body string }{
		{"delivery", "/hooks/" + hookID, body},
		{"deposit", "/api/v1/messages", string(envelope)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := testConfig(b)
			c.RateLimit = false
			c.Hooks.Caps.Deliveries, c.Hooks.Caps.HookDeliveries, c.Hooks.Caps.Bytes, c.Hooks.Caps.HookBytes = 1<<20, 1<<20, 1<<32, 1<<32
			c.Caps.RecipientBytes, c.Caps.RecipientMessages, c.Caps.TotalBytes = 1<<32, 1<<20, 1<<32
			r := startHooks(b, c)
			defer r.stop()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
			work := make(chan struct{})
			var g sync.WaitGroup
			for range senders {
				g.Go(func() {
					for range work {
						answer, err := client.Post(r.url+bb.path, "text/plain", strings.NewReader(bb.body))
						if err != nil {
							b.Error(err)
							continue
						}
						answer.Body.Close()
						if answer.StatusCode != http.StatusOK {
							b.Error(answer.Status)
						}
					}
				})
			}
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			g.Wait()
		})
	}
}

// BenchmarkHandOver is the time from the start of a delivery until the home computer,
// which waits, has it. With memory no commit to the disk is part of it.
func BenchmarkHandOver(b *testing.B) {
	for _, engine := range []string{"memory", "bolt"} {
		b.Run(engine, func(b *testing.B) { benchmarkHandOver(b, engine) })
	}
}

func benchmarkHandOver(b *testing.B, engine string) {
	c := testConfig(b)
	c.Engine = engine
	c.RateLimit = false
	r := startHooks(b, c)
	defer r.stop()
	var took []time.Duration
	for b.Loop() {
		batch, at := make(chan []handed, 1), make(chan time.Time, 1)
		go func() {
			defer close(batch) // also when it fails
			got := r.next("?wait=25")
			at <- time.Now()
			batch <- got
		}()
		began := time.Now()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			r.send("hello")
		}()
		for _, one := range <-batch {
			if one.Live {
				took = append(took, (<-at).Sub(began))
			}
			r.home("POST", "/relay/v1/ack", `{"ids":["`+one.ID+`"]}`, http.StatusOK, nil)
		}
		<-sent
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
