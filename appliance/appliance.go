// Package appliance assembles the relay: settings, engine, doors, listener. It
// is the only place that sees everything.
//
// It decides nothing about mail: it only says who talks to whom, and in which
// order they start and stop.
package appliance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/door/didcomm"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/appliance/resolve"
	"github.com/holdmail/holdmail/systemd"
)

// drainFor is how long requests that are running may take to finish at a stop.
// With what closing the store takes it stays within ten seconds.
const drainFor = 8 * time.Second

// Appliance is a relay that has its store and its listener.
type Appliance struct {
	config   Config
	log      *slog.Logger
	stores   stores
	listener net.Listener
	handler  http.Handler
	drainFor time.Duration
}

// New opens the store and then the listener, in that order: no challenge may
// come in before the ones of the last run are read back and erased. Callers
// wait from now on, until Serve. The caller must Close.
func New(c Config, log *slog.Logger) (*Appliance, error) {
	opened, err := openStores(c, log)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(c.BindAddress, strconv.Itoa(int(c.Port)))
	listener, err := listen(context.Background(), address, stallAfter)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening on %s: %w", address, cause(err)), opened.Close())
	}
	a := &Appliance{config: c, log: log, stores: opened, listener: listener, drainFor: drainFor}
	a.handler, err = a.build()
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// cause drops what net repeats: the operation and the address.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// build puts the doors on top of what is behind them.
func (a *Appliance) build() (http.Handler, error) {
	gatekeeper, err := resolve.NewGatekeeper(a.config.Gatekeeper)
	if err != nil {
		return nil, err
	}
	resolver := resolve.ByMethod{
		Methods:   map[string]resolve.Resolver{"key": resolve.Key{}},
		Otherwise: gatekeeper,
	}
	mail := &didcomm.Door{
		Mailbox:     &mailbox.Service{Store: a.stores.mailbox, MaxRecipients: a.config.MaxRecipients},
		Gate:        &auth.Gate{Challenges: a.stores.challenges, Resolver: resolver},
		UploadLimit: a.config.UploadLimit,
		Endpoint:    a.config.Endpoint(),
	}
	calls := routes(a.config.BasePath, door.NewJournal(a.log), table{mail.Routes(), mail.Rules()})
	return boundUnread(allowOrigins(calls), stallAfter), nil
}

// Addr is where the relay listens.
func (a *Appliance) Addr() net.Addr { return a.listener.Addr() }

// Serve answers callers until ctx ends. Then it stops accepting, lets the
// requests that are running finish for up to eight seconds, cuts the rest, and
// returns nil.
func (a *Appliance) Serve(ctx context.Context) error {
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server := a.server(requests)
	ended := make(chan error, 1)
	var g sync.WaitGroup
	defer g.Wait()
	g.Go(func() { ended <- server.Serve(a.listener) })

	a.log.Info("holdmail is ready", "version", a.config.Version, "address", a.Addr().String(),
		"engine", a.config.Engine, "file", dataFile(a.config), "endpoint", a.config.Endpoint())
	a.tell(systemd.Ready)
	select {
	case err := <-ended:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	a.log.Info("holdmail is stopping")
	a.tell(systemd.Stopping)
	a.drain(server, cut)
	return nil
}

// server has no fixed limit for reading or writing, which would cut a slow
// honest caller: the doors bound a body that stalls, the listener an answer.
func (a *Appliance) server(requests context.Context) *http.Server {
	return &http.Server{
		Handler:           a.handler,
		ReadHeaderTimeout: stallAfter,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug), // strangers' broken requests
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
}

// drain lets running requests finish, and cuts those that do not.
func (a *Appliance) drain(server *http.Server, cut context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), a.drainFor)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return
	}
	a.log.Info("cutting the requests that are still running")
	cut()
	if err := server.Close(); err != nil {
		a.log.Debug("closing connections", "cause", err)
	}
}

// tell tells the service manager, which may not be there to listen.
func (a *Appliance) tell(news func() error) {
	if err := news(); err != nil {
		a.log.Warn("the service manager does not listen", "cause", err)
	}
}

// Close releases the listener and the store, which keeps its live challenges
// for the next run. Call it once, after Serve.
func (a *Appliance) Close() error {
	if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		a.log.Debug("closing the listener", "cause", err)
	}
	if err := a.stores.Close(); err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}
