package mailbox_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/mailbox"
)

func TestBothFormsOfADIDAreOneMailbox(t *testing.T) {
	const short = did.ID("did:peer:4zQmQG5D24PpmziC2zgwq2miigrVRaZTxriSD3m2fuv7WMvY") // the hash of the document below
	for name, kids := range map[string][2]string{
		"short and long": {string(short) + "#mail", string(short) + ":z2M1k7h4psgp4#mail"},
		"long and short": {string(short) + ":z2M1k7h4psgp4#mail", string(short) + "#mail"},
		"long twice":     {string(short) + ":z2M1k7h4psgp4#mail", string(short) + ":z2M1k7h4psgp4#more"},
	} {
		packed := fmt.Sprintf(`{"protected":"e30","ciphertext":"AA","recipients":[{"header":{"kid":%q}},{"header":{"kid":%q}}]}`, kids[0], kids[1])
		if got, err := mailbox.Recipients([]byte(packed), 2); err != nil || !slices.Equal(got, []did.ID{short}) {
			t.Errorf("%s: Recipients = %v, %v; want %s", name, got, err, short)
		}
	}
}
