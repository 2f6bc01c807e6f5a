package pull_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/pairing"
	"github.com/holdmail/holdmail/appliance/pull"
	"github.com/holdmail/holdmail/appliance/pull/ledger"
)

// printer is a handler that is part of the program, and no HTTP server.
type printer struct{}

func (printer) Deliver(_ context.Context, d pull.Delivery) (delivery.Response, error) {
	fmt.Println(d.Hook.Name, d.Request.Method, string(d.Request.Body))
	return delivery.Response{Status: 200}, nil
}

// A program takes its own webhooks from a relay, until it is interrupted.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := takeWebhooks(ctx); err != nil {
		slog.Error("no more webhooks", "err", err)
	}
}

func takeWebhooks(ctx context.Context) error {
	key, err := pairing.Open("relay.json") // from holdmail pair
	if err != nil {
		return err
	}
	relay, err := pull.NewRelay("https://relay.example", key.Token(), "")
	if err != nil {
		return err
	}
	book, err := ledger.Open("ledger.db", 32<<20)
	if err != nil {
		return err
	}
	defer book.Close()
	p := pull.New(relay, key, printer{}, book, slog.Default())
	p.Hooks = func() ([]pull.Hook, error) {
		return pull.ParseHooks(strings.NewReader("orders 3nGf0Zq2QkKcTzV1yQbXaA"))
	}
	return p.Run(ctx)
}
