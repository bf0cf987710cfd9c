package wire

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a payload that is shown as JSON. encoding/json, which most readers
// are built on in Go, gives up at 10,000 levels; a response adds a few of its own.
const maxDepth = 1000

// Payload splits bytes into the two fields that show them: raw when they are JSON that can stand in a
// response as it is, b64 otherwise. Both are nil for no bytes.
func Payload(b []byte) (raw json.RawMessage, b64 []byte) {
	switch {
	case len(b) == 0:
		return nil, nil
	case utf8.Valid(b) && depth(b) <= maxDepth && json.Valid(b):
		return b, nil
	}
	return nil, b
}

// Bytes joins the two fields again.
func Bytes(raw json.RawMessage, b64 []byte) []byte {
	if len(raw) > 0 {
		return raw
	}
	return b64
}

// depth is the deepest nesting of arrays and objects in JSON; for other bytes it is any number.
func depth(b []byte) int {
	deepest, open, inString, escaped := 0, 0, false, false
	for _, c := range b {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped = c == '\\'
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '[' || c == '{':
			open++
			deepest = max(deepest, open)
		case c == ']' || c == '}':
			open--
		}
	}
	return deepest
}

// Time is the form of a time; "" for the zero time.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z07:00")
}
