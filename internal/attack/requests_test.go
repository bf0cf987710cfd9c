package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"reprise/abi"
	"reprise/host"
	"reprise/journal"
	"reprise/tenant"
)

// answer is what a caller of the API got.
type answer struct {
	status int
	code   string // of a problem
	detail string // of a problem
	body   []byte
}

// maxAnswer is the most that a refusal may say.
const maxAnswer = 4 << 10

// call sends a request as a tenant. ok is false when there was no answer.
func (v *victim) call(t tenant.ID, method, path string, header http.Header, body io.Reader) (answer, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, v.url+path, body)
	if err != nil {
		return answer{}, err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("Authorization", "Bearer "+token(t))
	resp, err := v.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	var problem struct{ Code, Detail string }
	if resp.Header.Get("Content-Type") == "application/problem+json" && json.Unmarshal(a.body, &problem) == nil {
		a.code, a.detail = problem.Code, problem.Detail
	}
	return a, nil
}

var wasmType = http.Header{"Content-Type": {"application/wasm"}}

func modulePath(name string) string { return "/v1/modules/" + url.PathEscape(name) }

// push uploads a module as a tenant.
func (v *victim) push(t tenant.ID, name string, wasm []byte) answer {
	a, err := v.call(t, http.MethodPut, modulePath(name), wasmType, bytes.NewReader(wasm))
	if err != nil {
		v.errorf("upload %.60q: %v", name, err)
	}
	return a
}

// pushed uploads a module that must be taken.
func (v *victim) pushed(t tenant.ID, name string, wasm []byte) {
	if a := v.push(t, name, wasm); a.status != http.StatusOK && a.status != http.StatusCreated {
		v.fatalf("the upload of %.60q is answered %d %s, want it taken", name, a.status, a.body)
	}
}

// refused uploads a module that must be refused with one of the codes, in words that a person can read, and that
// must leave nothing behind.
func (v *victim) refused(what string, wasm []byte, codes ...string) answer {
	before := v.modules(ann)
	a := v.push(ann, "bad", wasm)
	v.refusal(what, a, codes...)
	if after := v.modules(ann); after != before {
		v.errorf("%s: ann has %d modules, want %d: nothing of a refused module is kept", what, after, before)
	}
	return a
}

// refusal checks an answer: the caller's fault, one of the codes, and fit to be shown.
func (v *victim) refusal(what string, a answer, codes ...string) {
	if a.status < 400 || a.status > 499 || !slices.Contains(codes, a.code) {
		v.errorf("%s: got %d %.500s, want a refusal with %v", what, a.status, a.body, codes)
	}
	if a.detail == "" || len(a.body) > maxAnswer || strings.ContainsFunc(a.detail, unicode.IsControl) {
		v.errorf("%s: the refusal has %d bytes and says %.200q, want at most %d printable ones", what, len(a.body), a.detail, maxAnswer)
	}
}

// modules counts the modules of a tenant.
func (v *victim) modules(t tenant.ID) int {
	ms, err := v.host.Modules(context.Background(), t)
	v.check("list modules", err)
	return len(ms)
}

// begin starts a run.
func (v *victim) begin(t tenant.ID, workflow string, input []byte) journal.RunID {
	run, _, err := v.host.StartRun(context.Background(), t, host.StartRun{Workflow: workflow, Input: input})
	v.check("start a run of "+workflow, err)
	return run.ID
}

// end waits until a run needs nobody any more: it has ended or is blocked.
func (v *victim) end(t tenant.ID, id journal.RunID) journal.Run {
	run, err := v.host.Result(context.Background(), t, id, patience)
	v.check("wait for a run", err)
	return run
}

// run starts a run of ann's and waits for its end.
func (v *victim) run(workflow string, input []byte) journal.Run {
	return v.end(ann, v.begin(ann, workflow, input))
}

// view reads a run.
func (v *victim) view(t tenant.ID, id journal.RunID) journal.Run {
	r, err := v.host.Run(context.Background(), t, id)
	v.check("read a run", err)
	return r.Run
}

// until waits until a run is in a state.
func (v *victim) until(t tenant.ID, id journal.RunID, s journal.State) journal.Run {
	for {
		run := v.view(t, id)
		if run.State == s {
			return run
		}
		if run.State.Terminal() {
			v.fatalf("got %s (%s), want %s", run.State, run.Reason, s)
		}
		pause()
	}
}

// fails checks that a run has failed with a code, in words fit for its owner.
func (v *victim) fails(what string, run journal.Run, code string) {
	f := abi.DecodeFailure(run.Failure)
	if run.State != journal.Failed || f.Code != code {
		v.errorf("%s: got %s with %.300s (%s), want failed with %s", what, run.State, run.Failure, run.Reason, code)
	}
	if len(run.Failure) > maxAnswer || strings.Contains(string(run.Failure), "goroutine ") || strings.Contains(string(run.Failure), ".go:") {
		v.errorf("%s: the failure has %d bytes: %.500s; want at most %d, and nothing of the host's", what, len(run.Failure), run.Failure, maxAnswer)
	}
}

// completes checks that a run has completed.
func (v *victim) completes(what string, run journal.Run) {
	if run.State != journal.Completed {
		v.errorf("%s: got %s (%s), want completed", what, run.State, run.Reason)
	}
}

// replays checks that a run's journal leads to the same end again.
func (v *victim) replays(what string, run journal.Run) {
	rep, err := v.host.Replay(context.Background(), run.Tenant, run.ID, "")
	v.check("replay", err)
	if !rep.OK || rep.Entries != run.NextSeq {
		v.errorf("%s: the replay matches %d of %d entries: %s", what, rep.Entries, run.NextSeq, rep.Mismatch)
	}
}
