package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// decodeJSON reads one JSON value; numbers stay what they are written as.
func decodeJSON(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("bytes follow the JSON value")
	}
	return v, nil
}

// difference lists where two JSON values differ. With part, objects of got may have more fields than those of want.
func difference(where string, got, want any, part bool) []string {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return fields(where, g, w, part)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		var odd []string
		for i := range w {
			odd = append(odd, difference(fmt.Sprintf("%s[%d]", where, i), g[i], w[i], part)...)
		}
		return odd
	default:
		if got == want {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: got %s, want %s", where, text(got), text(want))}
}

func fields(where string, got, want map[string]any, part bool) []string {
	var odd []string
	at := func(key string) string {
		if where == "" {
			return key
		}
		return where + "." + key
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[key]; ok {
			odd = append(odd, difference(at(key), g, want[key], part)...)
		} else {
			odd = append(odd, fmt.Sprintf("%s: it is not there, want %s", at(key), text(want[key])))
		}
	}
	if part {
		return odd
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			odd = append(odd, fmt.Sprintf("%s: got %s, want that it is not there", at(key), text(got[key])))
		}
	}
	return odd
}

// text is a JSON value on one line, cut where it is long.
func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	s := bytes.TrimSpace(b.Bytes())
	if len(s) > maxShort {
		return fmt.Sprintf("%s… (%d bytes)", s[:maxShort], len(s))
	}
	return string(s)
}
