// Command holdmail holds mail for people who are not online: a DIDComm
// store-and-forward relay, and a relay of sealed webhooks with its home side.
//
// Each sub-command is one file here and says what to do; the work is done in
// appliance. It exits 0 when all went well, else 1 with the reason on stderr; of
// fetch and deposit, 75 says that the same may work later.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// A stop may be signalled twice at once, to the process and to its group; a
	// second signal that comes later is impatience, and ends the process.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	os.Exit(run(ctx, os.Args[1:]))
}
