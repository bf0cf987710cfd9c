package exec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/journal"
)

// TestChildrenOfEarlierTurns: what a turn makes of the arrivals that stand for children which an earlier one has started. It reads them
// before its replay has come to the requests.
func TestChildrenOfEarlierTurns(t *testing.T) {
	id := journal.NewRunID()
	for name, tt := range map[string]struct {
		op        int32
		payload   string
		started   bool
		cancelled bool
	}{
		"asked for, and pending":              {op: 1, started: true},
		"not asked for yet":                   {op: 4, started: true},
		"given up":                            {op: 2, cancelled: true},
		"dropped":                             {op: 3, cancelled: true},
		"given up, and may go on by itself":   {op: 2, payload: abandoned},
		"not asked for yet, may go on itself": {op: 4, payload: abandoned, started: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(nil)
			for range 3 {
				m.add(&op{kind: journal.KindChild})
			}
			m.settle(m.get(2), abi.Cancelled, nil)
			m.settle(m.get(3), abi.Cancelled, nil)
			m.drop(3)
			r := newRecorder(t.Context(), nil, &journal.Lease{}, nil)
			r.x = &execution{m: m}
			a := journal.Arrival{ID: opID(tt.op), Kind: journal.ArrivalChild, Op: tt.op, Name: id.String(), Payload: []byte(tt.payload)}
			r.arrive(a, true)
			var observed []string
			if !tt.started {
				observed = []string{a.ID}
			}
			var cancels []journal.RunID
			if tt.cancelled {
				cancels = []journal.RunID{id}
			}
			if r.started[tt.op] != tt.started || !cmp.Equal(r.observed, observed) || !cmp.Equal(r.cancels, cancels) {
				t.Errorf("got started %t, observed %v, cancels %v; want %t, %v, %v", r.started[tt.op], r.observed, r.cancels, tt.started, observed, cancels)
			}
		})
	}
}
