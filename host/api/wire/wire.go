// Package wire owns the JSON forms of the HTTP API. The server fills them and the client reads them,
// so that both sides are made from the same fields. It knows no use case and no transport.
//
// Payloads are bytes. A payload that is JSON stands in its field byte for byte; any other bytes stand
// base64-encoded in the field of the same name with the suffix _base64. Times are RFC 3339 in UTC with
// microseconds; an absent time has not come.
package wire

import "encoding/json"

// Run is one run.
type Run struct {
	ID              string          `json:"id" doc:"run_ and 32 hex digits"`
	Workflow        string          `json:"workflow" doc:"Workflow name or digest that the starter asked for"`
	Digest          string          `json:"digest" doc:"Module that the run is pinned to"`
	Entry           string          `json:"entry,omitempty" doc:"Workflow inside the module"`
	Key             string          `json:"key,omitempty" doc:"The user's name for the run, unique among open runs"`
	IdempotencyKey  string          `json:"idempotency_key,omitempty"`
	State           string          `json:"state" doc:"See docs/STATES.md"`
	Existing        bool            `json:"existing,omitempty" doc:"An earlier request with the same Idempotency-Key started it"`
	Reason          string          `json:"reason,omitempty" doc:"Why the run is blocked or has failed"`
	Waiting         string          `json:"waiting,omitempty" doc:"What a waiting run waits for"`
	Input           json.RawMessage `json:"input,omitempty"`
	InputBase64     []byte          `json:"input_base64,omitempty"`
	Output          json.RawMessage `json:"output,omitempty"`
	OutputBase64    []byte          `json:"output_base64,omitempty"`
	Failure         json.RawMessage `json:"failure,omitempty"`
	FailureBase64   []byte          `json:"failure_base64,omitempty"`
	Attempts        int             `json:"attempts" doc:"Claims since the last suspension"`
	Owner           string          `json:"owner,omitempty" doc:"Node that runs it"`
	Token           int64           `json:"token" doc:"Fencing token of the newest claim"`
	NextSeq         int64           `json:"next_seq" doc:"Number of journal entries"`
	Parent          string          `json:"parent,omitempty" doc:"Run that has started it as a child"`
	Successor       string          `json:"successor,omitempty" doc:"Run that goes on for one that is continued"`
	Queued          int             `json:"queued,omitempty" doc:"Arrivals that the guest has not seen"`
	CancelRequested bool            `json:"cancel_requested,omitempty"`
	WakeAt          string          `json:"wake_at,omitempty" format:"date-time"`
	CreatedAt       string          `json:"created_at" format:"date-time"`
	UpdatedAt       string          `json:"updated_at" format:"date-time"`
	FinishedAt      string          `json:"finished_at,omitempty" format:"date-time"`
	Published       []Published     `json:"published,omitempty" doc:"Values that the run shows"`
}

// Published is one value that a run shows.
type Published struct {
	Key         string          `json:"key"`
	Value       json.RawMessage `json:"value,omitempty"`
	ValueBase64 []byte          `json:"value_base64,omitempty"`
	At          string          `json:"at" format:"date-time"`
}

// Runs is one page of runs, newest first, without input, output and failure.
type Runs struct {
	Runs   []Run  `json:"runs"`
	Cursor string `json:"cursor,omitempty" doc:"Ask with it for the next page; absent on the last"`
}

// Entry is one journal entry.
type Entry struct {
	Seq           int64           `json:"seq"`
	Kind          string          `json:"kind"`
	Op            int32           `json:"op" doc:"Handle that completed; -1 for none"`
	Name          string          `json:"name,omitempty"`
	Status        string          `json:"status"`
	Request       json.RawMessage `json:"request,omitempty"`
	RequestBase64 []byte          `json:"request_base64,omitempty"`
	Options       json.RawMessage `json:"options,omitempty"`
	OptionsBase64 []byte          `json:"options_base64,omitempty"`
	Payload       json.RawMessage `json:"payload,omitempty"`
	PayloadBase64 []byte          `json:"payload_base64,omitempty"`
	Issued        int32           `json:"issued" doc:"Requests that the guest had made up to here"`
	Trail         string          `json:"trail" doc:"Running hash of those requests, 16 hex digits"`
	Token         int64           `json:"token" doc:"Fencing token of the lease that wrote it"`
	At            string          `json:"at" format:"date-time" doc:"The guest's time from here on"`
}

// Entries is a part of a journal. It is the end of what is there when Entries is empty.
type Entries struct {
	Entries []Entry `json:"entries"`
	Next    int64   `json:"next" doc:"Ask from here for what follows"`
}

// Signal is the answer to a signal.
type Signal struct {
	ID        string `json:"id" doc:"Id of the signal: the Idempotency-Key of the request, or one that the server made"`
	Duplicate bool   `json:"duplicate" doc:"The same signal had been taken before"`
}

// Replay is the report of a replay.
type Replay struct {
	Run      string `json:"run"`
	Digest   string `json:"digest"`
	Entries  int64  `json:"entries" doc:"Entries that matched"`
	OK       bool   `json:"ok"`
	Ending   string `json:"ending,omitempty" doc:"completed, failed, cancelled, or live when the journal ended first"`
	Mismatch string `json:"mismatch,omitempty" doc:"The whole message when it did not match"`
	Seq      int64  `json:"seq,omitempty" doc:"Where it did not match"`
}

// Module is a module with the names that point at it.
type Module struct {
	Digest     string   `json:"digest"`
	Size       int64    `json:"size" doc:"Bytes as uploaded"`
	Shape      string   `json:"shape" doc:"command or reactor"`
	SDK        string   `json:"sdk,omitempty"`
	Workflows  []string `json:"workflows,omitempty"`
	Activities []string `json:"activities,omitempty"`
	Imports    []string `json:"imports,omitempty" doc:"module.name, in the binary's order"`
	CreatedAt  string   `json:"created_at" format:"date-time"`
	Names      []Alias  `json:"names,omitempty" doc:"Workflow names that point here"`
	History    []Alias  `json:"history,omitempty" doc:"Steps of the name that was asked for, newest first"`
}

// Alias is one step in the history of a workflow name.
type Alias struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
	Digest  string `json:"digest"`
	SetAt   string `json:"set_at" format:"date-time"`
}

// Modules lists modules, newest first.
type Modules struct {
	Modules []Module `json:"modules"`
}

// Pushed is the answer to an upload.
type Pushed struct {
	Digest  string `json:"digest"`
	Size    int64  `json:"size"`
	Created bool   `json:"created" doc:"false when the tenant had the bytes already"`
	Name    string `json:"name,omitempty"`
	Version int64  `json:"version,omitempty" doc:"Step in the name's history"`
	Moved   bool   `json:"moved,omitempty" doc:"The name points elsewhere than before"`
	// Workflows and Activities are what the module says it holds.
	Workflows  []string `json:"workflows,omitempty"`
	Activities []string `json:"activities,omitempty"`
}

// Node is one boot of a host.
type Node struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	StartedAt string `json:"started_at" format:"date-time"`
	ExpiresAt string `json:"expires_at" format:"date-time"`
	Live      bool   `json:"live" doc:"By the database's clock"`
	Runs      int    `json:"runs" doc:"Runs that it owns"`
}

// Nodes lists nodes that are live or still own runs.
type Nodes struct {
	Nodes []Node `json:"nodes"`
}

// Version says what answers.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	ABI     int    `json:"abi" doc:"Version of the guest contract"`
	Go      string `json:"go"`
	Time    string `json:"time" format:"date-time" doc:"The server's clock"`
}

// Health is the answer to healthz and readyz.
type Health struct {
	Status string  `json:"status" doc:"ok, or not ready"`
	Checks []Check `json:"checks,omitempty"`
}

// Check is one check of readiness.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}
