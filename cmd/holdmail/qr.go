package main

import (
	"strings"

	qr "github.com/piglig/go-qr"
)

// margin is how many modules of light a reader wants around a code.
const margin = 4

// drawQR is a QR code of a text for a dark terminal, two rows of it in one line.
func drawQR(text string) (string, error) {
	code, err := qr.EncodeText(text, qr.Low)
	if err != nil {
		return "", err
	}
	light := func(x, y int) bool {
		inside := x >= 0 && y >= 0 && x < code.Size() && y < code.Size()
		return !inside || !code.Module(x, y)
	}
	var b strings.Builder
	for y := -margin; y < code.Size()+margin; y += 2 {
		for x := -margin; x < code.Size()+margin; x++ {
			b.WriteRune(half(light(x, y), light(x, y+1)))
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// half is the character with an upper and a lower half that are lit or not.
func half(upper, lower bool) rune {
	switch {
	case upper && lower:
		return '█'
	case upper:
		return '▀'
	case lower:
		return '▄'
	default:
		return ' '
	}
}
