package httpeffect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"reprise/abi"
)

// input is what the guest asks: one JSON object.
type input struct {
	Method     string            `json:"method"` // default GET
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`
	Body       *string           `json:"body"`
	BodyBase64 *string           `json:"body_base64"`
	TimeoutMS  int64             `json:"timeout_ms"`

	body []byte
}

const (
	maxURL    = 8 << 10
	maxMethod = 20
)

func decode(b []byte) (input, *abi.Failure) {
	var in input
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, invalid("the input is not the JSON object that %s takes: %.200s", Name, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return in, invalid("bytes follow the JSON object")
	}
	switch {
	case in.Body != nil && in.BodyBase64 != nil:
		return in, invalid("body and body_base64 are both there")
	case in.Body != nil:
		in.body = []byte(*in.Body)
	case in.BodyBase64 != nil:
		var err error
		if in.body, err = base64.StdEncoding.DecodeString(*in.BodyBase64); err != nil {
			return in, invalid("body_base64 is not base64")
		}
	}
	if in.TimeoutMS < 0 || in.TimeoutMS > 366*24*3600*1000 {
		return in, invalid("timeout_ms is %d, outside 0 to a year", in.TimeoutMS)
	}
	return in, nil
}

// request checks what the guest asks and makes the request that is sent.
func (h *handler) request(in input, key string) (*http.Request, *abi.Failure) {
	method := strings.ToUpper(in.Method)
	if method == "" {
		method = http.MethodGet
	}
	if len(method) > maxMethod || !isToken(method) || method == http.MethodConnect || method == http.MethodTrace {
		return nil, invalid("the method %.40q is not allowed", in.Method)
	}
	u, f := h.url(in.URL)
	if f != nil {
		return nil, f
	}
	header, f := headers(in.Headers)
	if f != nil {
		return nil, f
	}
	// A guest's own key wins: a service may expect one that is the same in several runs.
	if header.Get("Idempotency-Key") == "" && key != "" {
		header.Set("Idempotency-Key", key)
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "reprise")
	}
	req := &http.Request{Method: method, URL: u, Host: u.Host, Header: header, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(in.body))}
	if len(in.body) > 0 {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(in.body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req, nil
}

// url checks where the request goes, before anything is resolved.
func (h *handler) url(text string) (*url.URL, *abi.Failure) {
	if len(text) > maxURL {
		return nil, invalid("the URL has %d bytes, more than %d", len(text), maxURL)
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return nil, invalid("the URL has a space or control character")
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return nil, invalid("%.80q is not a URL", text)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, invalid("the URL's scheme is %.20q, not http or https", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, invalid("the URL has no host")
	}
	port := u.Port()
	if port == "" {
		if strings.HasSuffix(u.Host, ":") {
			return nil, invalid("the URL has an empty port")
		}
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if portNumber(port) == 0 {
		return nil, invalid("the URL's port is not a number from 1 to 65535")
	}
	if _, err := h.rules.find(u.Hostname(), port); err != nil {
		return nil, denied(err)
	}
	if u.User != nil {
		return nil, invalid("the URL has a user name; send an Authorization header")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// hopByHop are headers that belong to one connection or that the host sets itself. A guest that could set
// them could make two servers see two different requests.
var hopByHop = map[string]bool{"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true,
	"Te": true, "Trailer": true, "Upgrade": true, "Expect": true, "Http2-Settings": true}

func headers(in map[string]string) (http.Header, *abi.Failure) {
	out := make(http.Header, len(in)+2)
	size := 0
	for name, value := range in {
		if !isToken(name) {
			return nil, invalid("the header name %.40q is not allowed", name)
		}
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if hopByHop[canonical] || strings.HasPrefix(canonical, "Proxy-") {
			return nil, invalid("the header %.40q is set by the host", name)
		}
		if _, twice := out[canonical]; twice {
			return nil, invalid("the header %.40q is there twice, in different cases", name)
		}
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return nil, invalid("the value of the header %.40q has a control character", name)
		}
		if size += len(name) + len(value); size > maxHeader {
			return nil, invalid("the headers have more than %d bytes", maxHeader)
		}
		out[canonical] = []string{value}
	}
	return out, nil
}

// isToken says whether s is a token of RFC 9110, which methods and header names are.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
