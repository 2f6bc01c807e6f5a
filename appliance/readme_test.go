package appliance

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// markdown is the table of settings as README shows it.
func markdown() string {
	var b strings.Builder
	b.WriteString("| variable, flag | default | what it is | accepts |\n|---|---|---|---|\n")
	for _, s := range settings() {
		byDefault := ""
		if s.byDefault != "" {
			byDefault = "`" + s.byDefault + "`"
		}
		fmt.Fprintf(&b, "| `%s` `--%s` | %s | %s | %s |\n", s.env, s.flag, byDefault, s.help, s.want)
	}
	return b.String()
}

var update = flag.Bool("update", false, "write README's table of settings")

// README's table is the program's table: there is nothing to keep in step by hand.
func TestREADME(t *testing.T) {
	const file, begin, end = "../README.md", "<!-- settings -->\n", "<!-- end of settings -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("README has no %q ... %q to hold the table of settings", begin, end)
	}
	want := markdown()
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("README's table of settings is not the program's; \"go test ./appliance -run README -update\" writes it. Want\n%s", want)
	}
}
