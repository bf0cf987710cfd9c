package conformance

import (
	"context"
	"fmt"
	"time"

	"reprise/abi"
	"reprise/host"
	"reprise/journal"
	"reprise/tenant"
)

// program is a workflow of guest-sdk/conformance/README.md.
type program struct {
	name, input string
	output      string
	// ends is what else than completed the run comes to, and how its failure's code and message are found.
	ends journal.State
	code func(language) string // of a failed run, "" for any
	says string                // part of the failure's message
	// published are the values that readers see, by key.
	published map[string]string
	// meddle sends the run what it waits for.
	meddle func(ctx context.Context, h *host.Host, id journal.RunID) error
	// unordered says that answers come in any order.
	unordered bool
	// wild says that the program ends where its language, or the host, has no room for more. What it waits for until then, such
	// as a collector of garbage, is the language's affair.
	wild bool
}

var programs = []program{
	{name: "sequential", input: "4", output: "16"},
	{name: "sequential", input: "0", output: "1"},
	{name: "parallel", input: "null", output: "[2,4,6]", unordered: true},
	{name: "race", input: "null", output: `"timer"`},
	{name: "caught", input: "null", output: `{"code":"declined","message":"no money","details":{"limit":9}}`},
	{name: "flaky", input: "null", output: "3"},
	{name: "timer", input: "null", output: "true"},
	{name: "signal", input: "null", output: `["one",{"n":2}]`, published: map[string]string{"stage": `"waiting"`}, meddle: sendSignals},
	{name: "cleanup", input: "null", ends: journal.Cancelled, published: map[string]string{"undone": "42"}, meddle: cancel},
	{name: "large", input: "null", output: `{"length":1048576}`},
	{name: "numbers", input: "null", output: `{"big":9007199254740993,"nan":"7ff8000000000000"}`},
	{name: "unicode", input: "null", output: `"é 😀 日本 \"quoted\" \\ \n"`},
	{name: "deep", input: "1000", output: "500500"},
	{name: "overflow", input: "null", ends: journal.Failed, code: func(l language) string { return l.overflow }, wild: true},
	{name: "hungry", input: "null", ends: journal.Failed, code: func(l language) string { return l.hungry }, wild: true},
	{name: "panics", input: "null", ends: journal.Failed, code: func(l language) string { return l.panics }, says: "boom"},
	{name: "child", input: "3", output: `{"child":8}`},
	{name: "again", input: "2", output: `"done"`},
}

// pending are the programs that no host runs yet.
var pending []string

// check says what is wrong with how a run has ended.
func (p program) check(l language, r journal.Run, published []journal.Published) error {
	want := journal.Completed
	if p.ends != "" {
		want = p.ends
	}
	if r.State != want {
		return fmt.Errorf("got %s %s %s, want %s", r.State, r.Reason, r.Failure, want)
	}
	if got := string(r.Output); got != p.output {
		return fmt.Errorf("got output %.200s, want %s", got, p.output)
	}
	if want == journal.Failed {
		if err := p.checkFailure(l, r.Failure); err != nil {
			return err
		}
	}
	got := map[string]string{}
	for _, v := range published {
		got[v.Key] = string(v.Value)
	}
	if fmt.Sprint(got) != fmt.Sprint(p.published) && len(got)+len(p.published) > 0 {
		return fmt.Errorf("published: got %v, want %v", got, p.published)
	}
	return nil
}

func (p program) checkFailure(l language, failure []byte) error {
	f := abi.DecodeFailure(failure)
	if want := p.code(l); f.Code != want {
		return fmt.Errorf("got failure %.300s, want code %s", failure, want)
	}
	if !contains(f.Message, p.says) {
		return fmt.Errorf("got failure %.300s, want a message with %q", failure, p.says)
	}
	return nil
}

// sendSignals sends the first signal when the run has said that it waits, and the second when it waits again.
func sendSignals(ctx context.Context, h *host.Host, id journal.RunID) error {
	for i, payload := range []string{`"one"`, `{"n":2}`} {
		seen := int64(i)
		err := until(ctx, h, id, func(v host.RunView) bool {
			return len(v.Published) > 0 && v.Run.State == journal.Waiting && v.Run.NextSeq > seen
		})
		if err != nil {
			return err
		}
		if _, err := h.Signal(ctx, tenant.Default, id, fmt.Sprint("go-", i), "go", []byte(payload)); err != nil {
			return err
		}
	}
	return nil
}

// cancel asks the run to end when it waits.
func cancel(ctx context.Context, h *host.Host, id journal.RunID) error {
	if err := until(ctx, h, id, func(v host.RunView) bool { return v.Run.State == journal.Waiting }); err != nil {
		return err
	}
	_, err := h.Cancel(ctx, tenant.Default, id, "enough")
	return err
}

// until waits until a run is as wanted.
func until(ctx context.Context, h *host.Host, id journal.RunID, want func(host.RunView) bool) error {
	for {
		v, err := h.Run(ctx, tenant.Default, id)
		if err != nil {
			return err
		}
		if want(v) {
			return nil
		}
		if v.Run.State.Terminal() || v.Run.State == journal.Blocked {
			return fmt.Errorf("it is %s %s %s", v.Run.State, v.Run.Reason, v.Run.Failure)
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return fmt.Errorf("it is %s and waits for %q: %w", v.Run.State, v.Run.Waiting, ctx.Err())
		}
	}
}
