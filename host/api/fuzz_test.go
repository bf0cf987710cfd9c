package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"reprise/journal"
	"reprise/tenant"
)

// isAnswer fails when a response is neither success in JSON nor a well-formed problem of a caller's fault.
func isAnswer(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code >= 500 {
		t.Fatalf("got status %d: %s", w.Code, w.Body)
	}
	if !json.Valid(w.Body.Bytes()) {
		t.Fatalf("the answer is not JSON: %d %q", w.Code, w.Body)
	}
	if w.Code >= 400 && !strings.Contains(w.Body.String(), `"type":"`+problemTypePrefix) {
		t.Fatalf("the answer is not a problem: %d %s", w.Code, w.Body)
	}
}

// FuzzBodies sends any bytes as the body of every path that reads JSON.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"workflow":"w","input":{"a":1}}`, `{"workflow":"w","input_base64":"AA=="}`, `{"workflow":"w","key":"k","entry":"e"}`,
		`{"reason":"r"}`, `{"digest":"sha256:00"}`, `{"workflow":{}}`, `[`, "{\"\xff\":1}", `{"a":1}{"b":2}`, `{"workflow":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	uses := newFake()
	run := "/v1/runs/" + uses.put(tenant.Default, journal.Run{}).ID.String()
	h := New(Config{UseCases: uses})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/v1/runs", run + "/cancel", run + "/resume", run + "/replay"} {
			isAnswer(t, req{method: "POST", path: path, body: string(body)}.do(h))
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(body, &fields) == nil && fields["input"] != nil {
			decoded, err := decodeObject(body, []string{"workflow", "entry", "key", "input"})
			if err == nil && !bytes.Contains(body, decoded["input"]) {
				t.Errorf("the input %q is not a part of the body %q", decoded["input"], body)
			}
		}
	})
}

// FuzzTargets sends any path, query and idempotency key.
func FuzzTargets(f *testing.F) {
	for _, seed := range [][3]string{
		{"/v1/runs", "limit=1&state=ready", "k"}, {"/v1/runs/run_00/result", "wait=1ns", ""}, {"/v1/modules/%2e%2e", "", "\xff"},
		{"/v1/runs//signals/%00", "wait=9999999h", "\x00"}, {"", "%zz", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	h := New(Config{UseCases: newFake()})
	f.Fuzz(func(t *testing.T, path, query, key string) {
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || path == "/openapi.json" {
			return
		}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
			r := &http.Request{Method: method, URL: u, Host: "localhost", Header: http.Header{"Idempotency-Key": {key}}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
			r.URL.RawQuery, r.Body = query, http.NoBody
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			isAnswer(t, w)
		}
	})
}
