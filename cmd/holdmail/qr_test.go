package main

import (
	"image"
	"image/color"
	"strings"
	"testing"

	qr "github.com/piglig/go-qr"
)

func TestWhatTheTerminalShowsIsReadBack(t *testing.T) {
	want := "http://pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion/didcomm"
	text, err := drawQR(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := qr.Decode(photo(text))
	if got != want || err != nil {
		t.Errorf("read %q, %v; want %q from\n%s", got, err, want, text)
	}
}

// photo is a picture of a dark terminal with text of half blocks.
func photo(text string) image.Image {
	const scale = 4 // pixels of a module
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	picture := image.NewGray(image.Rect(0, 0, scale*len([]rune(lines[0])), scale*2*len(lines)))
	for y, line := range lines {
		for x, r := range []rune(line) {
			for i := range scale * scale * 2 {
				dx, dy := i%scale, i/scale
				if upper := dy < scale; r == '█' || r == '▀' && upper || r == '▄' && !upper {
					picture.SetGray(x*scale+dx, y*2*scale+dy, color.Gray{Y: 255})
				}
			}
		}
	}
	return picture
}
