package main

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"time"

	"github.com/holdmail/holdmail/appliance/pickup"
)

// fetch brings the mail of an identity.
type fetch struct {
	relayFlags
	Identity  string  `placeholder:"FILE" help:"The identity file; else ~/.config/holdmail/identity.json."`
	Audience  *string `placeholder:"URL" help:"The endpoint the relay is known by: prove who you are to that relay only, and fail if it is not the one that answers."`
	Out       string  `placeholder:"FOLDER" help:"Keep each message in a file there and print its path; else print a line of JSON for each."`
	Keep      bool    `help:"Acknowledge nothing: the relay keeps all of it."`
	Wait      int     `placeholder:"SECONDS" help:"Wait so long for mail if there is none: up to 60."`
	MaxAnswer int64   `placeholder:"BYTES" default:"67108864" help:"Bytes of mail to take at once, as the relay writes them; the default is ${default}."`
}

const maxWait = 60 // seconds

// Validate is asked by the command line.
func (f fetch) Validate() error {
	if f.Wait < 0 || f.Wait > maxWait {
		return errors.New("--wait: want seconds from 0 to 60")
	}
	if err := validAudience(f.Audience); err != nil {
		return err
	}
	if f.MaxAnswer <= 0 {
		return errors.New("--max-answer: want a number of bytes above 0")
	}
	return nil
}

func validAudience(audience *string) error {
	if audience != nil && !isHTTP(*audience) { // an empty one must not pass for none
		return errors.New("--audience: want an http or https URL, such as https://relay.example/didcomm")
	}
	return nil
}

func isHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// Run brings all mail that waits, and acknowledges what is safe.
func (f fetch) Run(ctx context.Context) error {
	owner, err := openIdentity(f.Identity)
	if err != nil {
		return err
	}
	relay, err := f.client()
	if err != nil {
		return err
	}
	relay.MaxAnswer = f.MaxAnswer
	if f.Audience != nil {
		relay.Audience = *f.Audience
	}
	p := pickup.Pickup{Relay: relay, Owner: owner, Wait: time.Duration(f.Wait) * time.Second, Leave: f.Keep}
	if f.Out == "" {
		p.Shelf = &pickup.Lines{Out: os.Stdout}
		return callError(interrupted(ctx, p.Run(ctx)))
	}
	folder, err := pickup.OpenFolder(f.Out, os.Stdout)
	if err != nil {
		return callError(err)
	}
	p.Shelf = folder
	err = callError(interrupted(ctx, p.Run(ctx)))
	return cmp.Or(err, folder.Close())
}
