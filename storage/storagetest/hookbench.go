package storagetest

import (
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/holdmail/holdmail/storage"
)

func address(name string) storage.Hook { return sha256.Sum256([]byte(name)) }

// reserve gives an id and a time to a delivery that is yet to be added.
func (b *bench) reserve(sealed, name string) storage.Delivery {
	b.Helper()
	id, received, err := b.Hooks.Reserve()
	if err != nil {
		b.Fatalf("Reserve: %v", err)
	}
	return storage.Delivery{ID: id, Hook: address(name), Received: received, Sealed: []byte(sealed)}
}

func (b *bench) keep(d storage.Delivery) {
	b.Helper()
	if err := b.Hooks.Add(b.Context(), d); err != nil {
		b.Fatalf("adding a delivery of %d bytes: %v", len(d.Sealed), err)
	}
}

// deliver reserves and adds at once, and returns the id.
func (b *bench) deliver(sealed, name string) string {
	b.Helper()
	d := b.reserve(sealed, name)
	b.keep(d)
	return d.ID
}

// turnAway delivers and fails the test unless the store is full.
func (b *bench) turnAway(sealed, name string) {
	b.Helper()
	before := b.hookTotals()
	d := b.reserve(sealed, name)
	if err := b.Hooks.Add(b.Context(), d); !errors.Is(err, storage.ErrFull) {
		b.Fatalf("adding a delivery of %d bytes: %v; want %v", len(sealed), err, storage.ErrFull)
	}
	if after := b.hookTotals(); after.Bytes > before.Bytes || after.Deliveries > before.Deliveries {
		b.Fatalf("a refused delivery left %+v where %+v was", after, before)
	}
	if _, err := b.Hooks.Sealed(b.Context(), d.ID); !errors.Is(err, storage.ErrGone) {
		b.Fatalf("reading a refused delivery: %v; want %v", err, storage.ErrGone)
	}
}

func (b *bench) acknowledge(want int, ids ...string) {
	b.Helper()
	if got, err := b.Hooks.Remove(b.Context(), ids); err != nil || got != want {
		b.Fatalf("Remove(%d ids) = %d, %v; want %d", len(ids), got, err, want)
	}
}

// parcel is a delivery, read.
type parcel struct {
	id, sealed string
	hook       storage.Hook
	received   time.Time
}

func (b *bench) parcels(after string) (all []parcel) {
	b.Helper()
	for k, err := range b.Hooks.List(b.Context(), after) {
		if err != nil {
			b.Fatalf("listing deliveries: %v", err)
		}
		sealed, err := b.Hooks.Sealed(b.Context(), k.ID)
		if err != nil || int64(len(sealed)) != k.Size {
			b.Fatalf("reading a delivery of %d bytes gave %d: %v", k.Size, len(sealed), err)
		}
		all = append(all, parcel{k.ID, string(sealed), k.Hook, k.Received})
	}
	return all
}

// waits fails the test unless exactly these deliveries are listed, in this order.
func (b *bench) waits(sealed ...string) {
	b.Helper()
	b.waitsAfter("", sealed...)
}

func (b *bench) waitsAfter(after string, sealed ...string) {
	b.Helper()
	var got []string
	for _, p := range b.parcels(after) {
		got = append(got, p.sealed)
	}
	if !slices.Equal(got, sealed) {
		for i := range got {
			got[i] = brief(got[i])
		}
		b.Fatalf("after %q %d deliveries wait, %v; want %d", after, len(got), got, len(sealed))
	}
}

// hookTotals is what the store says it holds, which a recount must bear out.
func (b *bench) hookTotals() storage.HookTotals {
	b.Helper()
	said, err := b.Hooks.Totals(b.Context())
	if err != nil {
		b.Fatalf("Totals: %v", err)
	}
	counted, err := b.HookLedger.Recount(b.Context())
	if err != nil || said != counted {
		b.Fatalf("a recount gives %+v, %v; the totals say %+v", counted, err, said)
	}
	return said
}

func (b *bench) wantHookTotals(deliveries, bytes int64) {
	b.Helper()
	if got, want := b.hookTotals(), (storage.HookTotals{Deliveries: deliveries, Bytes: bytes}); got != want {
		b.Fatalf("the store holds deliveries of %+v; want %+v", got, want)
	}
}

func (b *bench) register(names ...string) {
	b.Helper()
	var all []storage.Hook
	for _, n := range names {
		all = append(all, address(n))
	}
	if err := b.Hooks.Register(b.Context(), all); err != nil {
		b.Fatalf("registering %d addresses: %v", len(all), err)
	}
}

// wantRegistered compares without regard to order.
func (b *bench) wantRegistered(names ...string) {
	b.Helper()
	got, err := b.Hooks.Registered(b.Context())
	if err != nil {
		b.Fatalf("Registered: %v", err)
	}
	left := slices.Clone(got)
	for _, n := range names {
		at := slices.Index(left, address(n))
		if at < 0 {
			b.Fatalf("%q is not registered", n)
		}
		left = slices.Delete(left, at, at+1)
	}
	if len(left) > 0 {
		b.Fatalf("%d addresses are registered; want %d", len(got), len(names))
	}
}
