package harness

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// shut remembers that it was closed.
type shut struct {
	fake
	closed bool
}

func (s *shut) Close() error {
	s.closed = true
	return nil
}

func TestServe(t *testing.T) {
	s := &shut{fake: fake{takes: time.Millisecond}}
	want := Hello{System: "fake", Version: "v1", Settings: "defaults"}
	var out strings.Builder
	in := strings.NewReader(`{"in_flight":2,"steps":10,"workflows":6}` + "\nnonsense\n")
	err := Serve(t.Context(), Options{}, in, &out, func(context.Context, Options) (System, Hello, error) { return s, want, nil })
	if err != nil {
		t.Fatalf("Serve: %v", err)
	}
	d := json.NewDecoder(strings.NewReader(out.String()))
	var hello Hello
	var done, refused Reply
	for _, to := range []any{&hello, &done, &refused} {
		if err := d.Decode(to); err != nil {
			t.Fatalf("%v in:\n%s", err, out.String())
		}
	}
	if hello != want {
		t.Errorf("got %+v, want %+v", hello, want)
	}
	if done.Workflows != 6 || done.Error != "" {
		t.Errorf("got %+v, want 6 workflows", done)
	}
	if refused.Error == "" {
		t.Errorf("got %+v, want an error", refused)
	}
	if d.More() || !s.closed {
		t.Errorf("got more than two replies: %v, closed %v; want false, true", d.More(), s.closed)
	}
}

func TestServeSaysWhatKeepsItFromStarting(t *testing.T) {
	refused := errors.New("no server")
	var out strings.Builder
	err := Serve(t.Context(), Options{}, strings.NewReader(""), &out, func(context.Context, Options) (System, Hello, error) {
		return nil, Hello{System: "fake"}, refused
	})
	var hello Hello
	if jerr := json.Unmarshal([]byte(out.String()), &hello); jerr != nil || hello.Error != "no server" || !errors.Is(err, refused) {
		t.Errorf("got %+v, %v, %v; want the error in both", hello, err, jerr)
	}
}

func TestOptionsAreTheirFlags(t *testing.T) {
	want := Options{DSN: "postgres://x", SQLite: "f", InFlight: 7, Dir: "d", Server: "s", Guest: "g", Variant: "v"}
	got, err := parse(want.Args())
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestChild(t *testing.T) {
	const script = `echo '{"system":"fake","version":"v1"}'; while read line; do echo '{"workflows":3,"workflows_per_s":1.5}'; done`
	tests := []struct {
		name, script string
		start, reply string // what the errors have
	}{
		{"answers", script, "", ""},
		{"says why not", `echo '{"error":"no server"}'; exit 1`, "no server", ""},
		{"dies before it is there", `exit 3`, "exit status 3", ""},
		{"dies while it measures", `echo '{"system":"fake"}'; read line; echo why >&2; exit 3`, "", "why"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, hello, err := Start(t.Context(), nil, "sh", "-c", tt.script)
			if !matches(err, tt.start) {
				t.Fatalf("start: got error %v, want %q", err, tt.start)
			}
			if err != nil {
				return
			}
			r, err := c.Measure(t.Context(), Cell{})
			if !matches(err, tt.reply) {
				t.Errorf("measure: got error %v, want %q", err, tt.reply)
			}
			if err == nil && (hello.System != "fake" || r.Workflows != 3) {
				t.Errorf("got %+v, %+v, want what the script says", hello, r)
			}
			c.Close()
			if _, err := c.Measure(t.Context(), Cell{}); err == nil {
				t.Error("a child that was closed measures")
			}
		})
	}
}

func TestChildIsEndedWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, _, err := Start(ctx, io.Discard, "sh", "-c", `echo '{}'; sleep 1000 & wait`)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	if _, err := c.Measure(ctx, Cell{}); err == nil {
		t.Error("a child answers that was ended")
	}
}

func matches(err error, want string) bool {
	if err == nil || want == "" {
		return (err == nil) == (want == "")
	}
	return strings.Contains(err.Error(), want)
}
