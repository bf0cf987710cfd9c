package testkit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Report is what became of one case of a file.
type Report struct {
	Name     string
	Problems []string // none when all was as expected
	Fix      string   // of the first, when there is one to tell
	Result   *Result  // nil when it could not be played
	Cuts     int      // how often the run was cut and carried on
	Took     time.Duration
	// Diverged says that the run did something else after it was cut.
	Diverged bool
}

// OK says that all was as expected.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Test plays a case and looks at what came of it. An error says that the test was stopped.
func (m *Module) Test(ctx context.Context, s Spec) (Report, error) {
	began := time.Now()
	rep := Report{Name: s.Name}
	var err error
	rep.Result, err = m.Play(ctx, s.Case)
	if err == nil {
		rep.Problems = s.Expect.Check(rep.Result)
	}
	if err == nil && s.Resume {
		rep.Cuts = len(rep.Result.cuts())
		err = m.Resume(ctx, rep.Result)
	}
	rep.Took = time.Since(began)
	if errors.Is(err, errStopped) {
		return rep, err
	}
	if err != nil {
		rep.Problems = append(rep.Problems, err.Error())
		rep.Fix = fixOf(err)
		var odd *DivergedError
		rep.Diverged = errors.As(err, &odd)
	}
	return rep, nil
}

// fixOf says how to mend what kept a case from being right.
func fixOf(err error) string {
	var unmocked *UnmockedError
	var none *NoWorkflowError
	var odd *DivergedError
	switch {
	case errors.As(err, &unmocked) && unmocked.None:
		return fmt.Sprintf("add an answer to effects: %s without when, or with one that the input has", unmocked.Call.Name)
	case errors.As(err, &unmocked):
		return fmt.Sprintf("add it to the case: effects: {%s: {output: …}}", unmocked.Call.Name)
	case errors.As(err, &none):
		return "set workflow to one of them"
	case errors.As(err, &odd):
		return "a workflow may depend on its input and on what the host answers only; resume: false leaves this check out"
	}
	return ""
}
