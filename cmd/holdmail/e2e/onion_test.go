package e2e

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

func TestARelayIsReachedByItsOnionAddress(t *testing.T) {
	t.Parallel()
	r := startRelay(t)
	one := startTor(t, r.URL[len("http://"):])
	other := startTor(t, r.URL[len("http://"):])
	for _, call := range []struct{ socks, url string }{
		{one.Socks, one.url()},
		{one.Socks, other.url()},
		{other.Socks, one.url()},
	} {
		client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "socks5h", Host: call.socks})}}
		eventually(t, time.Minute, func() (bool, string) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, call.url+"/health", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				return false, err.Error()
			}
			resp.Body.Close()
			return resp.StatusCode == http.StatusOK, resp.Status
		})
		client.CloseIdleConnections()
	}
}
