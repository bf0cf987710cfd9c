package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// open starts a shop on a ledger file.
func open(t *testing.T, path string, r rules) http.Handler {
	t.Helper()
	book, err := openLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.close() })
	return newServer(book, r)
}

func post(h http.Handler, step, key, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest("POST", "/"+step, strings.NewReader(body))
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

func readReport(t *testing.T, h http.Handler) report {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/ledger", nil))
	var r report
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBookingStatus(t *testing.T) {
	h := open(t, filepath.Join(t.TempDir(), "ledger"), rules{refuse: "ship"})
	const body = `{"order":"o1","amount_cents":5}`
	for _, tc := range []struct {
		name, step, key, body string
		want                  int
	}{
		{"books", "charge", "k", body, 200},
		{"books again", "charge", "k", body, 200},
		{"other amount under the key", "charge", "k", `{"order":"o1","amount_cents":6}`, 409},
		{"other step under the key", "reserve", "k", body, 409},
		{"no key", "charge", "", body, 400},
		{"no order", "charge", "k2", `{}`, 400},
		{"no JSON", "charge", "k2", `{`, 400},
		{"refused", "ship", "k3", body, 422},
		{"no such step", "steal", "k4", body, 404},
		{"nothing to undo", "release", "k5", body, 200},
		{"undo", "refund", "k6", body, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := post(h, tc.step, tc.key, tc.body); got.Code != tc.want {
				t.Errorf("got %d %s, want %d", got.Code, got.Body, tc.want)
			}
		})
	}
	r := readReport(t, h)
	if len(r.Lines) != 2 || r.Lines[0].Step != "charge" || r.Lines[1].Step != "refund" {
		t.Errorf("got lines %+v, want one charge and one refund", r.Lines)
	}
	if r.Requests["charge"] != 3 {
		t.Errorf("got %d charge requests, want 3", r.Requests["charge"])
	}
}

func TestOneBookingUnderConcurrency(t *testing.T) {
	for _, late := range []bool{false, true} {
		h := open(t, filepath.Join(t.TempDir(), "ledger"), rules{bookLate: late})
		ids := make([]string, 20)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() { ids[i] = post(h, "charge", "k", `{"order":"o"}`).Body.String() })
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("book late %t: got answers %s and %s, want the same", late, ids[0], id)
			}
		}
		if r := readReport(t, h); len(r.Lines) != 1 || r.Requests["charge"] != len(ids) {
			t.Errorf("book late %t: got %d lines for %d requests, want 1 for %d", late, len(r.Lines), r.Requests["charge"], len(ids))
		}
	}
}

func TestLedgerSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	first := post(open(t, path, rules{}), "reserve", "k", `{"order":"o"}`).Body.String()

	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"torn`); err != nil {
		t.Fatal(err)
	}
	f.Close()

	h := open(t, path, rules{})
	if got := post(h, "reserve", "k", `{"order":"o"}`).Body.String(); got != first {
		t.Errorf("got %s, want %s", got, first)
	}
	if got := post(h, "reserve", "k2", `{"order":"o2"}`); got.Code != 200 {
		t.Errorf("after a torn line: got %d %s", got.Code, got.Body)
	}
	if got := readReport(t, open(t, path, rules{})).Lines; len(got) != 2 {
		t.Errorf("got %+v, want two lines", got)
	}
}
