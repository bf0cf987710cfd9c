package api

import (
	"net/http"
	"strings"
	"testing"

	"reprise/journal"
	"reprise/tenant"
)

func TestFork(t *testing.T) {
	f := newFake()
	r := f.put(tenant.Default, journal.Run{State: journal.Completed, Workflow: "w"})
	h := New(Config{UseCases: f})
	for _, tt := range []struct {
		name, id, body, key string
		status              int
		has                 string
	}{
		{"all", r.ID.String(), ``, "", http.StatusCreated, `"key":"0"`},
		{"at an entry", r.ID.String(), `{"at":6,"key":"k"}`, "", http.StatusCreated, `"key":"k7"`},
		{"again", r.ID.String(), `{"at":0}`, "again", http.StatusOK, `"existing":true`},
		{"a key that is taken", r.ID.String(), `{"key":"taken"}`, "", http.StatusConflict, `"code":"run_key_taken"`},
		{"no entry", r.ID.String(), `{"at":-1}`, "", http.StatusBadRequest, `"code":"invalid_field"`},
		{"no number", r.ID.String(), `{"at":"x"}`, "", http.StatusBadRequest, `"code":"invalid_field"`},
		{"beyond all numbers", r.ID.String(), `{"at":9223372036854775807}`, "", http.StatusBadRequest, `"code":"invalid_field"`},
		{"another field", r.ID.String(), `{"seq":1}`, "", http.StatusBadRequest, `"code":"unknown_field"`},
		{"no run", journal.NewRunID().String(), ``, "", http.StatusNotFound, `"code":"run_not_found"`},
	} {
		header := map[string]string{"Content-Type": "application/json"}
		if tt.key != "" {
			header["Idempotency-Key"] = tt.key
		}
		w := req{method: "POST", path: "/v1/runs/" + tt.id + "/fork", body: tt.body, header: header}.do(h)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.has) {
			t.Errorf("%s: got %d %s, want %d and %s", tt.name, w.Code, w.Body, tt.status, tt.has)
		}
	}
}
