package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/abi"
	"reprise/host/internal/exec"
	"reprise/host/internal/gate"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/tenant"
)

const (
	// queryFor bounds how long a query may take: to wait for its turn, to bring a copy of the run to where it waits, and to answer.
	queryFor = 30 * time.Second
	// waitingQueries and waitingQueriesEach bound the queries that wait for their turn, of all tenants and of one.
	waitingQueries     = 256
	waitingQueriesEach = 64
)

// newAsking makes the gate before queries: each is a guest more in memory, and its run's journal. A single tenant gets half of the places.
func newAsking(places int) *gate.Gate {
	return gate.New(gate.Config{Total: int64(places), Each: int64(max(1, places/2)), Waiting: waitingQueries, WaitingEach: waitingQueriesEach})
}

// Query asks a copy of an open run and changes nothing. The answer is bytes, or the failure that the query came to.
func (h *Host) Query(ctx context.Context, t tenant.ID, id journal.RunID, name string, input []byte) ([]byte, *abi.Failure, error) {
	if err := h.checkPayload("input", input); err != nil {
		return nil, nil, err
	}
	if name == "" {
		return nil, nil, &Error{Kind: Invalid, Code: "invalid_name", What: "the query name is empty", Where: "query name", Fix: "give one"}
	}
	if err := checkText("query name", name); err != nil {
		return nil, nil, err
	}
	qctx, cancel := context.WithTimeout(ctx, queryFor)
	defer cancel()
	leave, err := h.asking.Enter(qctx, t, 1)
	if err != nil {
		return nil, nil, queryError(ctx, err, id)
	}
	defer leave()
	run, err := h.cfg.Store.Run(qctx, t, id)
	if err != nil {
		return nil, nil, queryError(ctx, err, id)
	}
	if run.State.Terminal() {
		return nil, nil, &Error{Kind: Conflict, Code: "run_ended", What: "the run has ended and answers no queries", Where: id.String(), Fix: "read its output and what it has published"}
	}
	out, failure, err := h.turner.Query(qctx, run, name, input)
	if err != nil {
		return nil, nil, queryError(ctx, err, id)
	}
	return out, failure, nil
}

// queryError says why a query has no answer. ctx is the caller's, without the bound of the query itself.
func queryError(ctx context.Context, err error, id journal.RunID) error {
	var odd *exec.NondeterminismError
	var pipeline *exec.PipelineError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, sandbox.ErrNoQueries):
		return &Error{Kind: Conflict, Code: "query_unsupported", What: err.Error(), Where: id.String(), Fix: "see docs/QUERIES.md for what answers queries", Err: err}
	case errors.Is(err, exec.ErrNoWait):
		return &Error{Kind: Conflict, Code: "run_not_waiting", What: err.Error(), Where: id.String(), Fix: "ask again in a moment", Err: err}
	case errors.As(err, &pipeline):
		return &Error{Kind: Conflict, Code: "pipeline_changed", What: pipeline.Error(), Where: id.String(), Fix: "ask a host of the version that it began on", Err: err}
	case errors.As(err, &odd):
		return &Error{Kind: Conflict, Code: "query_mismatch", What: "the module does not fit the run's journal, so that no copy of the run can be made: " + odd.Summary(), Where: id.String(),
			Fix: "reprise run replay shows both sides", Err: err}
	case errors.Is(err, gate.ErrTenantFull):
		return &Error{Kind: Quota, Code: "queries_queued", What: fmt.Sprintf("%d queries of this tenant wait for their turn", waitingQueriesEach), Where: id.String(), Fix: "ask later", Err: err}
	case errors.Is(err, gate.ErrFull), errors.Is(err, context.DeadlineExceeded), errors.Is(err, sandbox.ErrPressure):
		return &Error{Kind: Unavailable, Code: "query_timeout", What: "this node had no room, or no time, for the query", Where: id.String(), Fix: "ask again later, or another node", Err: err}
	}
	return runError(moduleError(err, ""), id)
}
