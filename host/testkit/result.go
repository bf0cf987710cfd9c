package testkit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"reprise/abi"
	"reprise/host/api/wire"
	"reprise/journal"
)

// Result is what a play came to.
type Result struct {
	// State is completed, failed or cancelled; waiting when nothing more could happen; blocked with a Reason.
	State     journal.State
	Output    []byte
	Failure   *abi.Failure // of a run that failed or was cancelled
	Reason    string
	Waiting   string // what a run that waits waits for
	Published map[string][]byte
	Entries   []journal.Entry
	Calls     []Call  // what was asked for, in order; of the module's own activities too
	Replies   []Reply // to the case's queries, in the order in which they were asked
	Log       []string
	Elapsed   time.Duration // by the run's clock
	Continued int           // how many runs continued as new before the one that Entries are of

	played played
}

// Entry is a journal's entry in a form to read and to compare.
type Entry struct {
	Seq           int64           `json:"seq"`
	At            string          `json:"at"` // since the begin of the run, as in 1h30m0s
	Kind          string          `json:"kind"`
	Name          string          `json:"name,omitempty"`
	Status        string          `json:"status"`
	Request       json.RawMessage `json:"request,omitempty"`
	RequestBase64 []byte          `json:"request_base64,omitempty"`
	Options       json.RawMessage `json:"options,omitempty"`
	Payload       json.RawMessage `json:"payload,omitempty"`
	PayloadBase64 []byte          `json:"payload_base64,omitempty"`
}

// Journal is the run's journal to read. Of the first entry, which has the digest of the input and the limits, only the name is shown.
func (r *Result) Journal() []Entry {
	out := make([]Entry, len(r.Entries))
	for i, e := range r.Entries {
		out[i] = r.view(e)
	}
	return out
}

func (r *Result) view(e journal.Entry) Entry {
	v := Entry{Seq: e.Seq, At: e.At.Sub(r.Entries[0].At).String(), Kind: string(e.Kind), Name: e.Name, Status: e.Status.String()}
	if e.Kind == journal.KindStarted {
		return v
	}
	v.Request, v.RequestBase64 = wire.Payload(e.Request)
	v.Options, _ = wire.Payload(e.Options)
	v.Payload, v.PayloadBase64 = wire.Payload(e.Payload)
	return v
}

// Called counts the attempts of an effect or activity.
func (r *Result) Called(name string) int {
	n := 0
	for _, c := range r.Calls {
		if c.Name == name {
			n++
		}
	}
	return n
}

// String says in one line how the run ended.
func (r *Result) String() string {
	switch r.State {
	case journal.Completed:
		return "completed with " + short(r.Output)
	case journal.Failed, journal.Cancelled:
		return fmt.Sprintf("%s: %s", r.State, r.Failure.Error())
	case journal.Waiting:
		return "waits for " + r.Waiting
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", r.State, r.Reason), ": ")
}
