package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/holdmail/holdmail/appliance"
	"github.com/holdmail/holdmail/appliance/torhost"
	"github.com/holdmail/holdmail/appliance/torrc"
)

const (
	systemTorrc   = "/etc/tor/torrc"
	systemDefault = "/usr/share/tor/tor-service-defaults-torrc" // of Debian's package
)

// torSetup helps the owner to make the relay reachable by Tor.
type torSetup struct {
	Write      bool   `help:"Write these lines into the torrc, let Tor read it, and prove that the address leads here; as root."`
	Test       bool   `help:"Prove that the address leads here, by a selftest through Tor."`
	QR         bool   `name:"qr" help:"Draw the address as a QR code, also where the output is no terminal."`
	Torrc      string `default:"${torrc}" placeholder:"FILE" help:"Tor's configuration; the default is ${default}."`
	ServiceDir string `default:"/var/lib/tor/holdmail" placeholder:"FOLDER" help:"Where Tor keeps the key of the address; the default is ${default}."`
	EnvFile    string `default:"/etc/holdmail/holdmail.env" placeholder:"FILE" help:"The settings of the service; the default is ${default}."`
	Socks      string `default:"127.0.0.1:9050" placeholder:"HOST:PORT" help:"Tor's SOCKS port; the default is ${default}."`
	Wait       int    `default:"180" placeholder:"SECONDS" help:"How long Tor may take to make the name, and again to publish it; the default is ${default}."`
}

// Validate is asked by the command line.
func (s torSetup) Validate() error {
	if s.Wait < 1 || s.Wait > 3600 {
		return errors.New("--wait: want seconds from 1 to 3600")
	}
	return nil
}

// Run prints the lines and the address, and does what was asked besides.
func (s torSetup) Run(ctx context.Context) error {
	config, err := s.config()
	if err != nil {
		return err
	}
	service := torrc.Service{Dir: s.ServiceDir, Target: config.Onion.Listen, Circuits: config.Onion.Circuits}
	fmt.Printf("%s is to say:\n\n%s\n", s.Torrc, service.Lines())
	if s.Write {
		err = s.write(ctx, config, service)
	} else {
		err = s.show(config)
	}
	if err != nil || !s.Write && !s.Test {
		return err
	}
	return s.prove(ctx)
}

// config is that of the service: its file's settings beat those of this shell.
func (s torSetup) config() (appliance.Config, error) {
	text, err := torhost.File{Path: s.EnvFile}.Read()
	if err != nil {
		return appliance.Config{}, asRoot(err)
	}
	environ := os.Environ()
	if os.Getenv("RUNTIME_DIRECTORY") == "" && exists(systemdRuns) {
		environ = append(environ, "RUNTIME_DIRECTORY=/run/holdmail", "STATE_DIRECTORY=/var/lib/holdmail") // as the unit has them
	}
	config, _, err := appliance.Load(appliance.Flags{}, append(environ, torhost.Variables(text)...))
	if err == nil && config.Onion.Listen == "" {
		err = fmt.Errorf("the relay takes no callers from Tor: set HOLDMAIL_ONION_LISTEN in %s to the path of a socket, or to a port such as 127.0.0.1:4237", s.EnvFile)
	}
	return config, err
}

// show prints the address, if there is one.
func (s torSetup) show(config appliance.Config) error {
	name, err := s.name()
	if errors.Is(err, torhost.ErrNoName) {
		return fmt.Errorf("%w; to do it all, run: sudo holdmail tor --write", err)
	}
	if err != nil {
		return err
	}
	return s.announce(name, config)
}

// announce prints the endpoint as text, and as a QR code for a person.
func (s torSetup) announce(name string, config appliance.Config) error {
	endpoint := "http://" + name + config.BasePath
	fmt.Printf("name      %s\nendpoint  %s\n\n", name, endpoint)
	if stat, err := os.Stdout.Stat(); !s.QR && (err != nil || stat.Mode()&os.ModeCharDevice == 0) {
		return nil
	}
	code, err := drawQR(endpoint)
	if err != nil {
		return err
	}
	_, err = fmt.Println(code)
	return err
}

// name is that of the service, as far as we may see it.
func (s torSetup) name() (string, error) { return torhost.Name(s.ServiceDir, s.owner()) }

// owner is whom Tor runs as, by its configuration, as far as that says.
func (s torSetup) owner() torhost.User {
	files := []string{s.Torrc}
	if s.Torrc == systemTorrc {
		files = append(files, systemDefault)
	}
	for _, file := range files {
		text, _ := torhost.File{Path: file}.Read() // one that is not ours to read says nothing
		if who, err := torhost.Lookup(torrc.User(text)); err == nil {
			return who
		}
	}
	return torhost.User{}
}
