package didcomm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// escaped is text as a JSON string, written in pieces of at most n bytes.
func escaped(t interface{ Fatal(...any) }, text string, n int) string {
	var b strings.Builder
	out := bufio.NewWriterSize(&b, 16)
	b.WriteByte('"')
	for rest := []byte(text); len(rest) > 0; {
		cut := min(n, len(rest))
		if err := writeEscaped(out, rest[:cut]); err != nil {
			t.Fatal(err)
		}
		rest = rest[cut:]
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('"')
	return b.String()
}

func TestEscapedTextDecodesToItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(
			rapid.Rune(), rapid.RuneFrom([]rune("\"\\/\x00\x1f\x7f\n\u2028<&")), rapid.RuneFrom([]rune("abc")),
		)).Draw(t, "text")
		got := escaped(t, text, rapid.IntRange(1, 40).Draw(t, "piece"))
		var decoded string
		if err := json.Unmarshal([]byte(got), &decoded); err != nil || decoded != text {
			t.Fatalf("%q became %s, which is %q, %v", text, got, decoded, err)
		}
	})
}

func TestOnlyWhatMustBeIsEscaped(t *testing.T) {
	for c := range rune(0x3000) {
		must := c < ' ' || c == '"' || c == '\\'
		if got := escaped(t, string(c), 8); (got != `"`+string(c)+`"`) != must {
			t.Errorf("%U became %s", c, got)
		}
	}
}

func BenchmarkWriteEscaped(b *testing.B) {
	for name, text := range map[string]string{"clean": strings.Repeat("A", 32<<10), "quotes": strings.Repeat(`"`, 32<<10)} {
		b.Run(fmt.Sprintf("32KiB %s", name), func(b *testing.B) {
			out := bufio.NewWriter(nowhere{})
			piece := []byte(text)
			b.SetBytes(int64(len(piece)))
			b.ReportAllocs()
			for b.Loop() {
				if err := writeEscaped(out, piece); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
