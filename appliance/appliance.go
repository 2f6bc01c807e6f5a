// Package appliance assembles the relay: settings, engine, doors, listener. It
// is the only place that sees everything.
//
// It decides nothing about mail: it only says who talks to whom, and in which
// order they start and stop.
package appliance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/door/didcomm"
	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/appliance/outbound"
	"github.com/holdmail/holdmail/appliance/source"
	"github.com/holdmail/holdmail/systemd"
)

// drainFor is how long requests that are running may take to finish at a stop.
// With what closing the store takes it stays within ten seconds.
const drainFor = 8 * time.Second

// Appliance is a relay that has its store and its listeners.
type Appliance struct {
	config    Config
	log       *slog.Logger
	stores    stores
	sources   *source.Rules
	ways      entrances
	https     *https // nil without a certificate
	waiters   *mailbox.Waiters
	turns     *outbound.Turns
	hooks     *hookbox.Service // nil without a webhook door
	resolvers resolvers
	journal   *door.Journal
	handler   http.Handler
	drainFor  time.Duration

	connections int // open at one time
}

// New opens the store and then the listeners, in that order: no challenge may
// come in before the ones of the last run are read back and erased. Callers
// wait from now on, until Serve. The caller must Close.
func New(c Config, log *slog.Logger) (*Appliance, error) {
	opened, err := openStores(c, log)
	if err != nil {
		return nil, err
	}
	a := &Appliance{config: c, log: log, stores: opened, journal: door.NewJournal(log), drainFor: drainFor}
	if a.https, err = openHTTPS(c, log); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.sources = &source.Rules{
		Proxies:  c.TrustedProxies,
		Header:   source.Header(c.ForwardingHeader),
		IPv6Bits: c.IPv6Bits,
		Log:      log,
	}
	a.connections = connections(c, log)
	if a.hooks, err = openHooks(c, opened, a.connections); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	callers := newCrowd(a.connections, a.sources.Peer)
	if a.ways, err = openEntrances(c, a.https.handshakes(), callers); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.waiters = mailbox.NewWaiters(maxWaiters(c, a.connections))
	a.turns = newTurns(c)
	a.handler, err = a.build()
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// build puts what every call comes through on top of the doors.
func (a *Appliance) build() (http.Handler, error) {
	budgets := newLimit(a.config)
	doors, err := a.doors(budgets)
	if err != nil {
		return nil, err
	}
	calls := routes(a.config.BasePath, a.journal, budgets, doors...)
	arriving := arrivals(boundStreams(allowOrigins(calls), stallAfter), newMemory(a.config))
	return occupied(source.Identify(arriving, a.sources)), nil
}

// doors puts the doors on top of what is behind them.
func (a *Appliance) doors(budgets *limit) ([]table, error) {
	var err error
	if a.resolvers, err = openResolvers(a.config); err != nil {
		return nil, err
	}
	box := &mailbox.Service{
		Store:         a.stores.mailbox,
		MaxRecipients: a.config.MaxRecipients,
		Waiters:       a.waiters,
		Charge:        budgets.rest,
	}
	mail := &didcomm.Door{
		Mailbox:        box,
		Gate:           &auth.Gate{Challenges: a.stores.challenges, Resolver: a.resolvers, Audience: a.config.Endpoint()},
		Outbound:       newOutbound(a.config, box, a.turns),
		UploadLimit:    a.config.UploadLimit,
		Endpoint:       a.config.Endpoint(),
		Holders:        shares(a.config.Caps.Challenges).holders,
		WaitHolders:    shares(a.waiters.Most()).holders,
		DeliverHolders: shares(a.turns.Most()).holders,
	}
	doors := []table{{mail.Routes(), mail.Rules()}}
	if a.hooks != nil {
		doors = append(doors, a.hookDoor(budgets))
	}
	return doors, nil
}

// Addr is where the relay listens on TCP.
func (a *Appliance) Addr() net.Addr { return a.ways[0].Addr() }

// Serve answers callers until ctx ends. Then it stops accepting, lets the
// requests that are running finish for up to eight seconds, cuts the rest, and
// returns nil.
func (a *Appliance) Serve(ctx context.Context) error {
	limitHeap(a.config)
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server := a.server(requests)
	ended := make(chan error, len(a.ways))
	var g sync.WaitGroup
	defer g.Wait()
	for _, way := range a.ways {
		g.Go(func() { ended <- server.Serve(way) })
	}
	served, end := context.WithCancel(ctx)
	defer end()
	g.Go(func() { a.https.keep(served) })
	g.Go(func() { tidy(served, a.waiters.Crowds()) })

	a.log.Info("holdmail is ready", "version", a.config.Version, "address", a.Addr().String(),
		"engine", a.config.Engine, "file", dataFile(a.config), "endpoint", a.config.Endpoint())
	if o := a.config.Onion; o.Listen != "" {
		a.log.Info("callers of the onion service may come", "by", o.Listen, "circuits", o.Circuits)
	}
	if h := a.config.Hooks; h.On() {
		a.log.Info("webhooks are kept for a home computer", "key", h.Setup.KeyID(), "url", cmp.Or(a.hookURL(), "as each sender calls it"))
	}
	a.tell(systemd.Ready)
	select {
	case err := <-ended:
		_ = server.Close() // the other ways in; what is wrong is said already
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	a.log.Info("holdmail is stopping")
	a.tell(systemd.Stopping)
	a.drain(server, cut)
	a.journal.Close()
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
		HTTP2:             http2Limits(),
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug), // strangers' broken requests
		ConnContext:       introduce,
		ConnState:         rest,
		BaseContext:       func(way net.Listener) context.Context { return way.(entrance).Context(requests) },
	}
}

// drain lets running requests finish, and cuts those that do not. Those that wait
// for mail, for deliveries or for an answer finish now, those that wait for another
// relay soon enough to say so.
func (a *Appliance) drain(server *http.Server, cut context.CancelFunc) {
	a.waiters.End()
	if a.hooks != nil {
		a.hooks.End()
	}
	giveUp := time.AfterFunc(a.drainFor*3/4, a.turns.End)
	defer giveUp.Stop()
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

// Close releases the listeners, the resolvers and the store, which keeps its live challenges
// for the next run. Call it once, after Serve.
func (a *Appliance) Close() error {
	if err := errors.Join(a.ways.Close(), a.https.Close(), a.resolvers.Close()); err != nil {
		a.log.Debug("closing the listeners and the resolvers", "cause", err)
	}
	if err := a.stores.Close(); err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}
