package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// deposit leaves an envelope at a relay.
type deposit struct {
	relayFlags
	File string `placeholder:"FILE" help:"The packed envelope; else standard input."`
}

// Run sends the envelope as it is read, and prints the ids it was filed under,
// one per recipient.
func (d deposit) Run(ctx context.Context) error {
	relay, err := d.client()
	if err != nil {
		return err
	}
	envelope, size, err := openEnvelope(d.File)
	if err != nil {
		return err
	}
	defer envelope.Close()
	ids, err := relay.DepositFrom(ctx, envelope, size)
	if err != nil {
		return callError(interrupted(ctx, err))
	}
	return printLines(ids)
}

func printLines(lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Println(line); err != nil {
			return err
		}
	}
	return nil
}

// openEnvelope opens the envelope in a file, or on standard input if path is empty.
// Its size is -1 if only reading it can tell.
func openEnvelope(path string) (f *os.File, size int64, err error) {
	f = os.Stdin
	if path != "" {
		if f, err = os.Open(path); err != nil {
			return nil, 0, err
		}
	}
	stat, err := f.Stat()
	switch {
	case err != nil:
		return nil, 0, err
	case stat.IsDir():
		return nil, 0, fmt.Errorf("%s is a folder", f.Name())
	case stat.Mode()&os.ModeCharDevice != 0:
		return nil, 0, errors.New("there is no envelope: name a file, or give it on standard input")
	case stat.Mode().IsRegular():
		read, err := f.Seek(0, io.SeekCurrent) // by whoever had standard input before
		return f, max(0, stat.Size()-read), err
	default:
		return f, -1, nil
	}
}
