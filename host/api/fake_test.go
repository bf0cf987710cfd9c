package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise/abi"
	"reprise/host"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// fake is use cases over a map. A field that is set replaces the use case.
type fake struct {
	mu      sync.Mutex
	runs    map[tenant.ID]map[journal.RunID]journal.Run
	keys    map[string]journal.RunID
	signals []string // run, id, name, payload

	fail  error // what every use case returns
	ready error
	wait  func(ctx context.Context) // what Result waits for
	push  func(name string, bytes []byte, expect modules.Digest) (host.Pushed, error)
	list  func(f journal.Filter) (journal.Page, error)
	panic any
	entry []journal.Entry
}

func newFake() *fake {
	return &fake{runs: map[tenant.ID]map[journal.RunID]journal.Run{}, keys: map[string]journal.RunID{}}
}

func notFound(id journal.RunID) error {
	return &host.Error{Kind: host.NotFound, Code: "run_not_found", What: "there is no run " + id.String(), Where: "run id"}
}

func (f *fake) put(t tenant.ID, r journal.Run) journal.Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.ID == (journal.RunID{}) {
		r.ID = journal.NewRunID()
	}
	r.Tenant = t
	if f.runs[t] == nil {
		f.runs[t] = map[journal.RunID]journal.Run{}
	}
	f.runs[t][r.ID] = r
	return r
}

func (f *fake) get(t tenant.ID, id journal.RunID) (journal.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.panic != nil {
		panic(f.panic)
	}
	if f.fail != nil {
		return journal.Run{}, f.fail
	}
	r, ok := f.runs[t][id]
	if !ok {
		return r, notFound(id)
	}
	return r, nil
}

func (f *fake) DeleteRun(_ context.Context, t tenant.ID, id journal.RunID) error {
	r, err := f.get(t, id)
	if err != nil {
		return err
	}
	if !r.State.Terminal() {
		return &host.Error{Kind: host.Conflict, Code: "run_open", What: "the run is open"}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.runs[t], id)
	return nil
}

func (f *fake) StartRun(_ context.Context, t tenant.ID, req host.StartRun) (journal.Run, bool, error) {
	if f.fail != nil {
		return journal.Run{}, false, f.fail
	}
	if id, ok := f.keys[req.IdempotencyKey]; ok && req.IdempotencyKey != "" {
		r, err := f.get(t, id)
		return r, false, err
	}
	f.mu.Lock()
	for _, r := range f.runs[t] {
		if req.Key != "" && r.Key == req.Key {
			f.mu.Unlock()
			return r, false, &host.Error{Kind: host.Conflict, Code: "run_key_taken", What: "taken", Where: "key"}
		}
	}
	f.mu.Unlock()
	r := f.put(t, journal.Run{
		State: journal.Ready, Workflow: req.Workflow, Entry: req.Entry, Input: req.Input, Key: req.Key, IdempotencyKey: req.IdempotencyKey,
		CreatedAt: time.Unix(1_700_000_000, 123_456_000),
	})
	f.keys[req.IdempotencyKey] = r.ID
	return r, true, nil
}

func (f *fake) Run(_ context.Context, t tenant.ID, id journal.RunID) (host.RunView, error) {
	r, err := f.get(t, id)
	return host.RunView{Run: r, Queued: 2, Published: []journal.Published{{Key: "k", Value: []byte("{ }")}}}, err
}

func (f *fake) Runs(_ context.Context, t tenant.ID, filter journal.Filter) (journal.Page, error) {
	if f.list != nil {
		return f.list(filter)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var page journal.Page
	for _, r := range f.runs[t] {
		page.Runs = append(page.Runs, r)
	}
	return page, f.fail
}

func (f *fake) Journal(_ context.Context, t tenant.ID, id journal.RunID, from int64, limit int) ([]journal.Entry, error) {
	if _, err := f.get(t, id); err != nil {
		return nil, err
	}
	rest := f.entry[min(int(from), len(f.entry)):]
	return rest[:min(limit, len(rest))], nil
}

func (f *fake) Result(ctx context.Context, t tenant.ID, id journal.RunID, wait time.Duration) (journal.Run, error) {
	if wait > 0 && f.wait != nil {
		f.wait(ctx)
		if ctx.Err() != nil {
			return journal.Run{}, ctx.Err()
		}
	}
	return f.get(t, id)
}

func (f *fake) Signal(_ context.Context, t tenant.ID, id journal.RunID, signalID, name string, payload []byte) (bool, error) {
	if _, err := f.get(t, id); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signals = append(f.signals, signalID, name, string(payload))
	return signalID == "again", nil
}

func (f *fake) Cancel(_ context.Context, t tenant.ID, id journal.RunID, reason string) (journal.Run, error) {
	r, err := f.get(t, id)
	r.CancelRequested, r.Reason = true, reason
	return r, err
}

func (f *fake) Resume(_ context.Context, t tenant.ID, id journal.RunID) (journal.Run, error) {
	return f.get(t, id)
}

func (f *fake) Replay(_ context.Context, t tenant.ID, id journal.RunID, d modules.Digest) (host.Replay, error) {
	_, err := f.get(t, id)
	return host.Replay{Run: id, Digest: d, Mismatch: "seq 3 differs", Seq: 3}, err
}

// Query answers with its name and input, and fails by the name "fails".
func (f *fake) Query(_ context.Context, t tenant.ID, id journal.RunID, name string, input []byte) ([]byte, *abi.Failure, error) {
	_, err := f.get(t, id)
	if name == "fails" {
		return nil, abi.NewFailure("no_such_thing", "there is none"), err
	}
	return append([]byte(name+":"), input...), nil, err
}

// Fork makes a run whose key says how many entries were asked for.
func (f *fake) Fork(_ context.Context, t tenant.ID, id journal.RunID, req host.ForkRun) (journal.Run, bool, error) {
	r, err := f.get(t, id)
	if err != nil {
		return journal.Run{}, false, err
	}
	if req.Key == "taken" {
		return r, false, &host.Error{Kind: host.Conflict, Code: "run_key_taken", What: "taken", Where: "key"}
	}
	return f.put(t, journal.Run{State: journal.Ready, Workflow: r.Workflow, Key: fmt.Sprintf("%s%d", req.Key, req.Entries)}), req.IdempotencyKey != "again", nil
}

func (f *fake) PushModule(_ context.Context, _ tenant.ID, name string, bytes []byte, expect modules.Digest, _ ...modules.Signature) (host.Pushed, error) {
	if f.push != nil {
		return f.push(name, bytes, expect)
	}
	d := modules.DigestOf(bytes)
	return host.Pushed{Module: modules.Module{Digest: d, Size: int64(len(bytes))}, Created: true, Alias: modules.Alias{Name: name, Version: 1, Digest: d}, Moved: name != ""}, nil
}

func (f *fake) Modules(context.Context, tenant.ID) ([]host.ModuleView, error) { return nil, f.fail }

func (f *fake) Module(_ context.Context, _ tenant.ID, ref string) (host.ModuleView, error) {
	return host.ModuleView{Module: modules.Module{Digest: modules.Digest(ref)}}, f.fail
}

func (f *fake) Nodes(context.Context) ([]journal.Node, error) {
	return []journal.Node{{ID: "n#1", Name: "n", Live: true}}, f.fail
}

func (f *fake) Ready(context.Context) error { return f.ready }

var _ host.UseCases = (*fake)(nil)

// req describes one request; the zero value is GET of nothing.
type req struct {
	method, path, body string
	header             map[string]string
	host               string
}

func (r req) do(h http.Handler) *httptest.ResponseRecorder {
	if r.method == "" {
		r.method = http.MethodGet
	}
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	hr := httptest.NewRequest(r.method, r.path, body)
	hr.Host = "127.0.0.1:7070"
	if r.host != "" {
		hr.Host = r.host
	}
	if r.body != "" && r.method == http.MethodPost {
		hr.Header.Set("Content-Type", "application/json")
	}
	for k, v := range r.header {
		hr.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, hr)
	return w
}

var errBroken = errors.New("pq: password of user secret is wrong")

func mustStatus(t *testing.T, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Fatalf("got status %d, want %d: %s", w.Code, want, w.Body)
	}
}

// waitPast is a wait of a length of time that tells whether its context ended before.
func waitPast(d time.Duration, ended chan<- error) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-ctx.Done():
			ended <- ctx.Err()
		case <-time.After(d):
			ended <- nil
		}
	}
}
