package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// body gives an operation's function the request's body as it was sent. Operations use it and not
// huma's Body, which decodes and so would lose the exact bytes of a payload.
type body struct{ ctx huma.Context }

// Resolve is called by huma before the operation's function.
func (b *body) Resolve(ctx huma.Context) []error {
	b.ctx = ctx
	return nil
}

// read returns the body, at most limit bytes. types are the media types that are accepted, none for any.
func (b *body) read(limit int64, types ...string) ([]byte, error) {
	if err := b.acceptable(limit, types...); err != nil {
		return nil, err
	}
	return b.take(limit)
}

// acceptable says what can be known of a body before any of it is read.
func (b *body) acceptable(limit int64, types ...string) error {
	r, _ := humago.Unwrap(b.ctx)
	for _, line := range r.Header.Values("Content-Encoding") {
		for enc := range strings.SplitSeq(line, ",") {
			if enc = strings.TrimSpace(enc); enc != "" && !strings.EqualFold(enc, "identity") {
				return refuse("unsupported_encoding", fmt.Sprintf("the body has Content-Encoding %.40q", enc), "header Content-Encoding")
			}
		}
	}
	if sent := r.Header.Values("Content-Type"); len(types) > 0 {
		mediaType := ""
		if len(sent) == 1 {
			mediaType, _, _ = mime.ParseMediaType(sent[0])
		}
		if !slices.Contains(types, mediaType) {
			return refuse("unsupported_media_type", fmt.Sprintf("the body has Content-Type %.80q; %q is expected", strings.Join(sent, ", "), types[0]), "header Content-Type")
		}
	}
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	return nil
}

// take reads an acceptable body.
func (b *body) take(limit int64) ([]byte, error) {
	r, _ := humago.Unwrap(b.ctx)
	var data bytes.Buffer
	if r.ContentLength > 0 {
		data.Grow(int(r.ContentLength) + bytes.MinRead) // ReadFrom grows what has less room than that
	}
	_, err := data.ReadFrom(http.MaxBytesReader(nil, io.NopCloser(b.ctx.BodyReader()), limit))
	var large *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(limit)
	case errors.As(err, &network) && network.Timeout():
		return nil, refuse("body_timeout", "the body did not arrive in time", "body")
	case err != nil:
		return nil, refuse("body_unreadable", "the body ended before it was complete", "body")
	}
	// The deadline of the body must not end a wait: net/http watches the connection while it waits.
	_ = b.ctx.SetReadDeadline(time.Time{})
	return data.Bytes(), nil
}

func tooLarge(limit int64) error {
	return refuse("body_too_large", fmt.Sprintf("the body has more than %d bytes", limit), "body")
}

// fields reads the body as one JSON object with no other fields than those known, each at most once.
// Values are the bytes that were sent. An empty body is an object without fields.
func (b *body) fields(limit int64, known ...string) (map[string]json.RawMessage, error) {
	data, err := b.read(limit)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	if mediaType, _, _ := mime.ParseMediaType(b.ctx.Header("Content-Type")); mediaType != "application/json" {
		return nil, refuse("unsupported_media_type", fmt.Sprintf("the body has Content-Type %.80q; application/json is expected", mediaType), "header Content-Type")
	}
	return decodeObject(data, known)
}

func decodeObject(data []byte, known []string) (map[string]json.RawMessage, error) {
	invalid := func(format string, args ...any) error {
		return refuse("invalid_json", fmt.Sprintf(format, args...), "body")
	}
	if !utf8.Valid(data) {
		return nil, invalid("the body is not UTF-8")
	}
	if !json.Valid(data) {
		var v any
		return nil, invalid("the body is not JSON: %v", json.Unmarshal(data, &v))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, invalid("the body is not a JSON object")
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, invalid("the body is not JSON: %v", err)
		}
		if !slices.Contains(known, name) {
			return nil, refuse("unknown_field", fmt.Sprintf("the body has a field %.60q; known are %q", name, known), "body")
		}
		if _, twice := fields[name]; twice {
			return nil, invalid("the body has the field %q twice", name)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, invalid("the body is not JSON: %v", err)
		}
		fields[name] = v
	}
	return fields, nil
}

// text reads an optional string field.
func text(fields map[string]json.RawMessage, name string) (string, error) {
	raw, ok := fields[name]
	if !ok {
		return "", nil
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", refuse("invalid_field", fmt.Sprintf("the field %s is not a string", name), "body."+name)
	}
	return *s, checkText("body."+name, *s)
}
