package api

import (
	"net/http"
	"strings"
	"testing"

	"reprise/journal"
	"reprise/tenant"
)

func TestQueriesKeepTheirBytes(t *testing.T) {
	f := newFake()
	r := f.put(tenant.Default, journal.Run{State: journal.Waiting})
	h := New(Config{UseCases: f})
	for _, p := range payloads {
		w := req{method: "POST", path: "/v1/runs/" + r.ID.String() + "/queries/a%2Fb", body: p.body, header: map[string]string{"Content-Type": "text/plain"}}.do(h)
		if w.Code != http.StatusOK || w.Body.String() != "a/b:"+p.body {
			t.Errorf("%s: got %d with %d bytes, want 200 and the name and %d bytes", p.name, w.Code, w.Body.Len(), len(p.body))
		}
	}
	w := req{method: "POST", path: "/v1/runs/" + r.ID.String() + "/queries/fails"}.do(h)
	if body := w.Body.String(); w.Code != http.StatusUnprocessableEntity || !strings.Contains(body, `"code":"query_failed"`) || !strings.Contains(body, `"failure":{"code":"no_such_thing"`) {
		t.Errorf("got %d %s, want 422 and the failure", w.Code, body)
	}
	w = req{method: "POST", path: "/v1/runs/" + journal.NewRunID().String() + "/queries/sum"}.do(h)
	if w.Code != http.StatusNotFound {
		t.Errorf("got %d, want 404 for a run that is not there", w.Code)
	}
}
