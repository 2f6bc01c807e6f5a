package main

import (
	"context"
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"github.com/holdmail/holdmail/appliance"
)

// commands is the command line.
type commands struct {
	Serve    serve            `cmd:"" help:"Run the relay until SIGTERM or SIGINT."`
	Selftest selftest         `cmd:"" help:"Carry one envelope through a relay and report each step."`
	Identity identityCommands `cmd:"" help:"Make an identity whose mail can be fetched."`
	Deposit  deposit          `cmd:"" help:"Leave a packed envelope at a relay."`
	Fetch    fetch            `cmd:"" help:"Bring the mail of an identity, and acknowledge it once it is safe."`
	Pair     pair             `cmd:"" help:"Make this computer's key for sealed webhook deliveries, and print the relay's setup code."`
	Hook     hookCommands     `cmd:"" help:"Make addresses for webhooks."`
	Pull     pullCommand      `cmd:"" help:"Bring sealed webhook deliveries from a relay to a program on this computer."`
	Doctor   doctor           `cmd:"" help:"Say what keeps webhook deliveries from coming home."`
	Version  showVersion      `cmd:"" help:"Print the version."`
}

// run does what args say and returns the exit code. No args at all ask for help.
func run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parser, err := kong.New(&commands{Serve: serve{appliance.NewFlags()}},
		kong.Name("holdmail"),
		kong.Description("A DIDComm mailbox: holds sealed mail for people who are not online."),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}))
	if err != nil {
		panic(err) // a bug in the command line's description
	}
	command, err := parser.Parse(args)
	if err != nil {
		return fail(fmt.Errorf("%w; see holdmail --help", err))
	}
	if err := command.Run(); err != nil {
		return fail(err)
	}
	return 0
}

// fail tells the reason and returns the exit code.
func fail(err error) int {
	fmt.Fprintln(os.Stderr, "holdmail:", err)
	return exitCode(err)
}
