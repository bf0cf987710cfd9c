package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"reprise/host/client"
)

// TestScriptFetches lets a script use fetch as in a browser: redirects, bodies of all kinds, statuses that the host retries, and
// refusals.
func TestScriptFetches(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && (err != nil || string(body) != "a+b=%C3%A9" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded;charset=UTF-8") {
			t.Errorf("got %q, %v with content type %q", body, err, r.Header.Get("Content-Type"))
		}
		http.Redirect(w, r, "/here?x", http.StatusFound)
	})
	mux.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("X-Answer", "one")
		w.Header().Add("X-Answer", "two")
		fmt.Fprintf(w, `{"method":%q,"test":%q,"type":%q,"n":9007199254740993}`, r.Method, r.Header.Get("X-Test"), r.Header.Get("Content-Type"))
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Error(err)
		}
		w.Write([]byte{254})
	})
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", http.StatusServiceUnavailable) })
	site := httptest.NewServer(mux)
	defer site.Close()
	n := flowNode(t, "", "--allow-host", site.Listener.Addr().String())
	run := startRun(n, "flow", "browse", fmt.Sprintf("%q", site.URL))
	want := `{"moved":[true,true,"SITE/here?x","one, two",{"method":"GET","test":"1","type":"","n":9007199254740993}],` +
		`"bytes":[0,255,254],"busy":[503,false,"later\n"],"left":[302,"/here?x"],` +
		`"failures":["SITE/moved leads elsewhere","no","egress_denied"]}`
	n.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, run)
		if err == nil && ended(r) && string(r.Output) != want {
			t.Errorf("got %s %s %s\nwant %s", r.State, r.Output, r.Failure, want)
		}
		return ended(r), err
	})
	replays(n, run)
	n.terminate()
}
