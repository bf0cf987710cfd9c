package reprise

import (
	"bytes"
	"encoding/json"
)

// encode gives a value's payload: []byte and json.RawMessage as they are, anything else as JSON
// without HTML escapes.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case []byte:
		return v, nil
	case json.RawMessage:
		return v, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// decode is the inverse of encode. No bytes leave the zero value, so that a workflow may be started
// and a signal sent without a payload.
func decode[T any](payload []byte) (T, error) {
	var v T
	switch p := any(&v).(type) {
	case *[]byte:
		*p = payload
		return v, nil
	case *json.RawMessage:
		*p = payload
		return v, nil
	}
	if len(payload) == 0 {
		return v, nil
	}
	err := json.Unmarshal(payload, &v)
	return v, err
}
