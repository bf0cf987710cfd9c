package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"reprise/guest-sdk/go"
)

func init() {
	reprise.Workflow("payload", Payload)
	reprise.Workflow("typed", Typed)
	reprise.Workflow("signals", Signals)
	reprise.Workflow("ticks", Ticks)
	reprise.Workflow("tells", Tells)
	reprise.Workflow("fetch", Fetch)
	reprise.Workflow("limits", Limits)
}

// Payload sends its input through an effect and an activity, byte for byte.
func Payload(ctx context.Context, in []byte) ([]byte, error) {
	out, err := echo(ctx, in)
	if err != nil {
		return nil, err
	}
	return same.Do(ctx, out)
}

var same = reprise.NewActivity("same", func(_ context.Context, in []byte) ([]byte, error) { return in, nil }, reprise.ActivityOptions{})

// Values are values that a careless encoding damages.
type Values struct {
	Large int64           `json:"large"`
	Text  string          `json:"text"`
	Raw   json.RawMessage `json:"raw"`
	Bytes []byte          `json:"bytes"`
}

// Typed does the same with typed values.
func Typed(ctx context.Context, in Values) (Values, error) { return echo(ctx, in) }

// Signals takes n signals and returns their payloads in order.
func Signals(ctx context.Context, n int) ([]string, error) {
	var got []string
	for range n {
		s, err := reprise.Signal[string](ctx, "note")
		if err != nil {
			return nil, err
		}
		got = append(got, s)
	}
	early := reprise.StartSignal[string](ctx, "late")
	early.Cancel()
	late, err := reprise.Signal[string](ctx, "late")
	return append(got, late), err
}

// Ticks uses a ticker, a timer's channel, time.AfterFunc and Sleep.
func Ticks(ctx context.Context, _ struct{}) (string, error) {
	start := time.Now()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	fired := make(chan struct{})
	time.AfterFunc(12*time.Millisecond, func() { close(fired) })
	for range 2 {
		<-ticker.C
	}
	<-fired
	if err := reprise.Sleep(ctx, 8*time.Millisecond); err != nil {
		return "", err
	}
	if took := time.Since(start); took < 20*time.Millisecond {
		return "", fmt.Errorf("it took %v, less than 20ms", took)
	}
	return "ok", nil
}

// Tells logs by every way there is, publishes, and returns what it is told of its run.
func Tells(context.Context, struct{}) (reprise.RunInfo, error) {
	reprise.Log("by %s", "Log")
	reprise.Logger().Warn("by Logger", "n", 1)
	log.SetFlags(0)
	log.Print("by package log")
	fmt.Println("by fmt")
	if err := reprise.Publish("progress", map[string]int{"percent": 50}); err != nil {
		return reprise.RunInfo{}, err
	}
	if _, ok := reprise.Asset("missing"); ok {
		return reprise.RunInfo{}, fmt.Errorf("an asset that is not there was found")
	}
	return reprise.Info(), nil
}

// Fetch posts to the URL in its input and returns status, a header and the body.
func Fetch(ctx context.Context, url string) (string, error) {
	resp, err := reprise.HTTP(ctx, reprise.Request{URL: url, Body: []byte("\x00\xff"), Header: reprise.Header{"X-Test": "é"}})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %s %q", resp.Status, resp.Header.Get("X-Answer"), resp.Body), nil
}

// Limits breaks a limit and gets a failure at once.
func Limits(ctx context.Context, _ struct{}) (string, error) {
	const tooLarge = 2<<20 + 1
	f := startEcho(ctx, make([]byte, tooLarge))
	select {
	case <-f.Done():
	default:
		return "", fmt.Errorf("a request that breaks a limit is not done at once")
	}
	_, err := f.Get(ctx)
	return fmt.Sprint(err), nil
}
