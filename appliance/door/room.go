package door

import (
	"io"

	"github.com/holdmail/holdmail/appliance/flight"
)

const (
	// firstRoom is the room that a body is given before any of it is there, in
	// bytes: a declared length alone buys no more.
	firstRoom = 4 << 10
	// fewBytes is how many a body has while its room is quadrupled and not doubled.
	fewBytes = 64 << 10
)

// RoomFor is what reading a body of at most limit bytes holds at most, in bytes:
// its last room, the one before, half as large, and what inflates it.
func RoomFor(limit int64) int64 { return limit + limit/2 + inflaterBytes + firstRoom }

// readAll reads in to its end, or returns errOverLimit if that lies beyond
// limit bytes. declared is the length it was said to have, -1 for none. Its room
// grows as bytes arrive, and load holds it.
func readAll(in io.Reader, load *flight.Load, declared, limit int64) ([]byte, error) {
	var buf []byte
	for {
		if len(buf) == cap(buf) {
			var err error
			if buf, err = regrow(buf, load, declared, limit); err != nil {
				return nil, err
			}
		}
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, errOverLimit
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// regrow moves a body that fills its room to a larger one.
func regrow(full []byte, load *flight.Load, declared, limit int64) ([]byte, error) {
	room := grow(int64(len(full)), declared, limit)
	if err := load.Hold(room); err != nil {
		return nil, err
	}
	grown := append(make([]byte, 0, room), full...)
	load.Drop(int64(cap(full)))
	return grown, nil
}

// grow is the room that a body is given once so many bytes of it are there. It is
// never more than was declared, unless more came. The last step is taken from
// half of it at the most.
func grow(there, declared, limit int64) int64 {
	most := limit + 1 // the end may show only behind the last byte
	if declared > there {
		most = declared // net/http tells the end together with the last byte
	}
	room := max(2*there, firstRoom)
	if there <= fewBytes {
		room = max(4*there, firstRoom)
	}
	if 2*room > most {
		return most
	}
	return room
}
