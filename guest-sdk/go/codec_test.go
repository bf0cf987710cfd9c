package reprise

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestEncode(t *testing.T) {
	for _, tc := range []struct {
		name string
		v    any
		want string
	}{
		{"struct", struct {
			A int `json:"a"`
		}{1}, `{"a":1}`},
		{"large integer", int64(1<<53 + 1), "9007199254740993"},
		{"no HTML escapes", "<a & b>", `"<a & b>"`},
		{"NUL", "a\x00b", `"a\u0000b"`},
		{"bytes as they are", []byte{0, 0xff, 'x'}, "\x00\xffx"},
		{"raw JSON as it is", json.RawMessage(`{ "b" : 9007199254740993 }`), `{ "b" : 9007199254740993 }`},
		{"nothing", nil, "null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := encode(tc.v)
			if err != nil || string(got) != tc.want {
				t.Errorf("encode: got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
	if _, err := encode(func() {}); err == nil {
		t.Error("encode of a function: got no error")
	}
}

func TestDecode(t *testing.T) {
	raw := []byte("\x00\xff not JSON")
	if got, err := decode[[]byte](raw); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("bytes: got %q, %v, want %q", got, err, raw)
	}
	if got, err := decode[json.RawMessage]([]byte(` {"k":1} `)); err != nil || string(got) != ` {"k":1} ` {
		t.Errorf("raw: got %q, %v", got, err)
	}
	if got, err := decode[int64]([]byte("9007199254740993")); err != nil || got != 1<<53+1 {
		t.Errorf("large integer: got %d, %v", got, err)
	}
	if got, err := decode[int](nil); err != nil || got != 0 {
		t.Errorf("no bytes: got %d, %v, want the zero value", got, err)
	}
	for _, bad := range []string{"{", `"text"`, "1 2", "\xff"} {
		if got, err := decode[int]([]byte(bad)); err == nil {
			t.Errorf("decode of %q: got %d and no error", bad, got)
		}
	}
}

func TestHTTPBodies(t *testing.T) {
	for _, tc := range []struct {
		name string
		req  Request
		want string
	}{
		{"get", Request{URL: "http://h/"}, `{"method":"GET","url":"http://h/"}`},
		{"text", Request{URL: "u", Body: []byte("é\x00")}, `{"method":"POST","url":"u","body":"é\u0000"}`},
		{"bytes", Request{Method: "PUT", URL: "u", Body: []byte{0xff}}, `{"method":"PUT","url":"u","body_base64":"/w=="}`},
		{"JSON", Request{URL: "u", JSON: map[string]int{"n": 1}, Timeout: 1500},
			`{"method":"POST","url":"u","headers":{"Content-Type":"application/json"},"body":"{\"n\":1}","timeout_ms":1}`},
		{"own content type", Request{URL: "u", JSON: 1, Header: Header{"content-type": "x"}},
			`{"method":"POST","url":"u","headers":{"content-type":"x"},"body":"1"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, err := tc.req.wire()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := encode(w); err != nil || string(got) != tc.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tc.want)
			}
		})
	}
	var r Response
	if err := json.Unmarshal([]byte(`{"status":200,"headers":{"etag":"x"},"body_base64":"/wA="}`), &r); err != nil {
		t.Fatal(err)
	}
	if r.Status != 200 || r.Header.Get("ETag") != "x" || !bytes.Equal(r.Body, []byte{0xff, 0}) {
		t.Errorf("response: got %+v", r)
	}
	for _, body := range []string{"", "text\x00", "\xff"} {
		b, err := encode(&Response{Status: 201, Header: Header{"a": "b"}, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decode[*Response](b); err != nil || got.Status != 201 || got.Header["a"] != "b" || string(got.Body) != body {
			t.Errorf("round trip of body %q: got %+v, %v", body, got, err)
		}
	}
}
