package memory_test

import (
	"testing"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/memory"
	"github.com/holdmail/holdmail/storage/storagetest"
)

func open(t testing.TB, o storage.Options) storagetest.Engine {
	s := memory.New(o)
	t.Cleanup(func() { s.Close() })
	return storagetest.Engine{Mail: s.Mailbox(), Challenges: s.Challenges(), Ledger: s, Hooks: s.Hooks(), HookLedger: s.Hooks(), Close: s.Close}
}

func TestMemory(t *testing.T) { storagetest.Run(t, open) }

func TestMemoryHooks(t *testing.T) { storagetest.RunHooks(t, open) }
