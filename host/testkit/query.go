package testkit

import (
	"fmt"

	"reprise/abi"
	"reprise/journal"
	"reprise/tenant"
)

// Query asks the run something while it waits.
type Query struct {
	When  When
	Name  string
	Input []byte
}

// Reply is what a query came to.
type Reply struct {
	Query   Query
	Output  []byte
	Failure *abi.Failure
	// Refused says why the run could not be asked: the module answers no queries, or the run had ended.
	Refused string
}

// ask asks a copy of the run, as a host does.
func (p *play) ask(q *Query) error {
	run, err := p.store.Run(p.ctx, tenant.Default, p.run)
	if err != nil {
		return err
	}
	r := Reply{Query: *q}
	if run.State.Terminal() {
		r.Refused = "the run has ended"
	} else {
		r.Output, r.Failure, err = p.turner.Query(p.ctx, run, q.Name, q.Input)
	}
	if err != nil {
		r.Refused = err.Error()
	}
	p.replies = append(p.replies, r)
	return nil
}

// fileQuery is the form of a query, and of what is expected of it, in a file of cases.
type fileQuery struct {
	fileSignal
	Expect *fileExpect `json:"expect"`
}

func readQueries(fs []fileQuery) (qs []Query, wants []Expect, err error) {
	for i, f := range fs {
		s, err := readSignals([]fileSignal{f.fileSignal})
		if err != nil {
			return nil, nil, fmt.Errorf("query %d: %w", i+1, err)
		}
		if f.Expect == nil {
			return nil, nil, fmt.Errorf("query %d expects nothing; add expect with output or failure", i+1)
		}
		e, err := f.Expect.read()
		if err != nil {
			return nil, nil, fmt.Errorf("query %d: %w", i+1, err)
		}
		qs = append(qs, Query{When: s[0].When, Name: s[0].Name, Input: s[0].Payload})
		wants = append(wants, e)
	}
	return qs, wants, nil
}

// checkReplies compares what queries came to.
func (e Expect) checkReplies(r *Result) []string {
	var odd []string
	for i, want := range e.Replies {
		if i >= len(r.Replies) {
			return append(odd, fmt.Sprintf("query %d: the run ended before its moment came", i+1))
		}
		got := r.Replies[i]
		where := fmt.Sprintf("query %d (%s)", i+1, got.Query.Name)
		if got.Refused != "" {
			odd = append(odd, fmt.Sprintf("%s: the run cannot be asked: %s", where, got.Refused))
			continue
		}
		as := &Result{State: journal.Completed, Output: got.Output, Failure: got.Failure}
		if got.Failure != nil {
			as.State = journal.Failed
		}
		for _, problem := range want.Check(as) {
			odd = append(odd, where+": "+problem)
		}
	}
	return odd
}
