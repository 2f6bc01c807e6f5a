package memory_test

import (
	"testing"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/memory"
	"github.com/holdmail/holdmail/storage/storagetest"
)

func TestMemory(t *testing.T) {
	storagetest.Run(t, func(t testing.TB, o storage.Options) storagetest.Engine {
		s := memory.New(o)
		t.Cleanup(func() { s.Close() })
		return storagetest.Engine{Mail: s.Mailbox(), Challenges: s.Challenges(), Ledger: s, Close: s.Close}
	})
}
