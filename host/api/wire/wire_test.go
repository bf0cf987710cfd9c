package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// forms are all forms that stand alone in an answer.
var forms = []any{Run{}, Runs{}, Entries{}, Signal{}, Replay{}, Module{}, Modules{}, Pushed{}, Nodes{}, Version{}, Health{}, Problem{}}

// fill sets every field to something that omitempty keeps.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":[1,2]}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("a \"<b>\" \u2028")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(0xfe)
	default:
		v.SetInt(7)
	}
}

func TestMarshalAgreesWithEncodingJSON(t *testing.T) {
	for _, form := range forms {
		full := reflect.New(reflect.TypeOf(form)).Elem()
		fill(full)
		v := full.Interface()
		got, err := Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimSpace(want.String()), string(got)); diff != "" {
			t.Errorf("%T (-encoding/json +Marshal):\n%s", v, diff)
		}
	}
}

func TestMarshalLeavesOutWhatIsEmpty(t *testing.T) {
	for want, v := range map[string]any{
		`{"runs":[]}`:                 Runs{},
		`{"entries":[],"next":0}`:     Entries{},
		`{"id":"","duplicate":false}`: Signal{},
		`{"status":""}`:               Health{},
		`{"key":"","at":""}`:          Published{},
	} {
		got, err := Marshal(v)
		if err != nil || string(got) != want {
			t.Errorf("%T: got %s (%v), want %s", v, got, err, want)
		}
	}
}

func TestMarshalKeepsPayloads(t *testing.T) {
	payload := "{ \"b\":\n 9007199254740993 , \"a\":\"<&>\" }"
	got, err := Marshal(Runs{Runs: []Run{{Input: json.RawMessage(payload)}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), `"input":`+payload+`,`) {
		t.Errorf("got %s, want the payload as it is", got)
	}
}

func TestTime(t *testing.T) {
	if got := Time(time.Time{}); got != "" {
		t.Errorf("got %q, want nothing for the zero time", got)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_999, time.FixedZone("", 3600))
	if got, want := Time(at), "2026-01-02T02:04:05.678000Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzPayload checks that any bytes come out of an answer as they went in.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{"", "{}", " [1, 2]\n", "\xff", `"\ud800"`, strings.Repeat("[", 2000), "1 2", "nul"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Run
		r.Input, r.InputBase64 = Payload(b)
		encoded, err := Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Run
		if err := json.Unmarshal(encoded, &back); err != nil {
			t.Fatalf("the answer is not JSON: %v: %q", err, encoded)
		}
		got := Bytes(back.Input, back.InputBase64)
		// White space around a value is not part of it; who needs it reads the bytes of the result.
		if !bytes.Equal(got, b) && !(back.Input != nil && bytes.Equal(got, bytes.Trim(b, " \t\r\n"))) {
			t.Errorf("got %q, want %q", got, b)
		}
	})
}
