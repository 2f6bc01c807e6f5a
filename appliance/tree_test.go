package appliance

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/holdmail/holdmail"

// layers is the order of the tree, lowest first.
func layers() [][]string {
	return [][]string{
		{"storage", "storage/clock", "storage/ids", "systemd", "ratelimit", "appliance/did", "appliance/certificate", "appliance/source", "appliance/onion", "appliance/flight", "appliance/durable", "appliance/seal", "appliance/delivery", "appliance/torrc"},
		{"storage/challenge", "appliance/door", "appliance/egress", "appliance/torhost"},
		{"storage/bolt", "storage/memory", "storage/storagetest", "appliance/resolve", "appliance/identity", "appliance/pairing", "appliance/pull/ledger"},
		{"appliance/mailbox", "appliance/hookbox", "appliance/auth", "appliance/client", "appliance/outbound", "appliance/pull"},
		{"appliance/door/didcomm", "appliance/door/webhook", "appliance/pickup"},
		{"appliance"},
		{"cmd/holdmail", "cmd/holdmail/e2e"},
	}
}

// homes says which folders and files may import a module. One without a home
// is a dependency nobody decided on; an empty home is everywhere.
func homes() map[string][]string {
	return map[string][]string{
		"go.etcd.io/bbolt":                          {"storage/bolt", "appliance/pull/ledger"},
		"github.com/julienschmidt/httprouter":       {"appliance/routes.go"},
		"golang.org/x/crypto":                       {"appliance/certificate"},
		"github.com/pires/go-proxyproto":            {"appliance/introduced.go"},
		"github.com/rs/cors":                        {"appliance/cors.go"},
		"github.com/alecthomas/kong":                {"appliance/config.go", "cmd/holdmail"},
		"github.com/coreos/go-systemd/v22":          {"systemd"},
		"github.com/decred/dcrd/dcrec/secp256k1/v4": {"appliance/did", "appliance/auth", "appliance/identity"},
		"github.com/mr-tron/base58":                 {"appliance/did"},
		"github.com/go-json-experiment/json":        {"appliance/mailbox", "appliance/door", "appliance/door/didcomm", "appliance/door/webhook", "appliance/delivery"},
		"github.com/google/uuid":                    {},
		"golang.org/x/net":                          {"appliance/egress"},
		"github.com/piglig/go-qr":                   {"cmd/holdmail"},
		"golang.org/x/sync":                         {},
		"filippo.io/edwards25519":                   {"appliance/did"},
		"github.com/hashicorp/golang-lru/v2":        {"appliance/resolve", "appliance/newcomers.go"},
		"golang.org/x/sys":                          {},
		"golang.org/x/time":                         {"ratelimit"},
		"pgregory.net/rapid":                        {"storage/storagetest"},
	}
}

func TestLayers(t *testing.T) {
	layer := map[string]int{}
	for i, packages := range layers() {
		for _, p := range packages {
			layer[p] = i
		}
	}
	for _, f := range sources(t) {
		mine, ok := layer[f.folder]
		if !ok {
			t.Errorf("%s: its package is in no layer; decide what it may know and add it to layers()", f.name)
			continue
		}
		for _, imported := range f.imports {
			p, ours := strings.CutPrefix(imported, module+"/")
			if theirs, known := layer[p]; ours && known && theirs >= mine {
				t.Errorf("%s imports %s: a package knows only those of lower layers (%d is not under %d), so that a noun sees no door and an engine no noun",
					f.name, p, theirs, mine)
			}
		}
	}
}

func TestHomes(t *testing.T) {
	for _, f := range sources(t) {
		for _, imported := range f.imports {
			if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") || strings.HasPrefix(imported, module+"/") {
				continue // the standard library, or ourselves
			}
			m, where := home(imported)
			switch {
			case m == "":
				t.Errorf("%s imports %s, which has no home: decide where it may be known and add it to homes()", f.name, imported)
			case len(where) > 0 && !slices.Contains(where, f.folder) && !slices.Contains(where, f.name):
				t.Errorf("%s imports %s, whose home is %s: elsewhere nobody should know that we use it", f.name, imported, strings.Join(where, ", "))
			}
		}
	}
}

// home finds the module of an imported package, and its home.
func home(imported string) (module string, where []string) {
	for m, where := range homes() {
		if imported == m || strings.HasPrefix(imported, m+"/") {
			return m, where
		}
	}
	return "", nil
}

func TestDocs(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		documented[f.folder] = documented[f.folder] || f.documented
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment: say what it does and what it refuses to know", folder)
		}
	}
}

// goFile is one of ours, as far as the rules of the tree look.
type goFile struct {
	name, folder string // from the module's root
	documented   bool   // has a package comment
	imports      []string
}

// sources are all Go files that are not tests.
func sources(t testing.TB) (found []goFile) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." && skipped(entry.Name()) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		s := goFile{name: name, folder: path.Dir(name), documented: f.Doc != nil}
		for _, i := range f.Imports {
			s.imports = append(s.imports, strings.Trim(i.Path.Value, `"`))
		}
		found = append(found, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// skipped are folders that the go command passes over, or that are not Go.
func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_") || folder == "testdata" || folder == "node_modules"
}
