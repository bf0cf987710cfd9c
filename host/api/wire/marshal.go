package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Marshal encodes a value of this package as encoding/json does, with three differences: a
// json.RawMessage is written as it is, white space included; nothing is escaped for HTML; a nil list of
// objects is [] and not null.
func Marshal(v any) ([]byte, error) {
	return appendValue(nil, reflect.ValueOf(v))
}

func appendValue(dst []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(dst, "null"...), nil
	}
	if raw, ok := v.Interface().(json.RawMessage); ok && len(raw) > 0 {
		return append(dst, raw...), nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return appendValue(dst, v.Elem())
	case reflect.Struct:
		if _, ok := v.Interface().(json.Marshaler); !ok {
			return appendStruct(dst, v)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			return appendSlice(dst, v)
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Interface()); err != nil {
		return nil, fmt.Errorf("encode %s: %w", v.Type(), err)
	}
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...), nil
}

func appendSlice(dst []byte, v reflect.Value) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendStruct(dst []byte, v reflect.Value) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	first := true
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		f := v.Field(i)
		if name == "" || name == "-" || options == "omitempty" && empty(f) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), name...), `":`...)
		if dst, err = appendValue(dst, f); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// empty is what encoding/json's omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
