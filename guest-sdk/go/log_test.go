package reprise

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
)

func TestLogger(t *testing.T) {
	var got []string
	log := slog.New(newLogHandler(func(level int32, line string) { got = append(got, fmt.Sprintf("%d %s", level, line)) }))
	log.Debug("plain")
	log.With("order", "o 1").WithGroup("card").Error("declined", "level", "gold")
	log.Warn("with a level", "level", 3)
	want := []string{"0 plain", `3 declined order="o 1" card.level=gold`, "2 with a level level=3"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestRequestsOutsideAModulePanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got no panic")
		}
	}()
	Log("nobody listens")
}
