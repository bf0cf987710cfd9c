package exec

import (
	"context"
	"errors"
	"fmt"

	"reprise/journal"
)

// errCorrupt says that a journal is not what a journal must be.
var errCorrupt = errors.New("the journal is damaged")

// historyPage is how many entries are asked for at once; the store ends a page earlier by bytes.
const historyPage = 10_000

// history reads a run's journal from an entry on, up to one behind the last, and checks its form: dense, begun once, ended at
// most once and last, times that never go back.
func (t *Turner) history(ctx context.Context, run journal.Run, from, to int64) ([]journal.Entry, error) {
	var all []journal.Entry
	for at := from; at < to; at = from + int64(len(all)) {
		page, err := t.cfg.Store.Entries(ctx, run.Tenant, run.ID, at, int(min(historyPage, to-at)))
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
	}
	if got := from + int64(len(all)); got != to {
		return nil, fmt.Errorf("%w: %d entries of %d", errCorrupt, got, to)
	}
	for i, e := range all {
		seq := from + int64(i)
		switch {
		case e.Seq != seq:
			return nil, fmt.Errorf("%w: seq %d where %d must be", errCorrupt, e.Seq, seq)
		case (e.Kind == journal.KindStarted) != (seq == 0):
			return nil, fmt.Errorf("%w: entry %s at seq %d", errCorrupt, e.Kind, seq)
		case e.Kind.Terminal() && i != len(all)-1:
			return nil, fmt.Errorf("%w: entries follow the end at seq %d", errCorrupt, seq)
		case i > 0 && e.At.Before(all[i-1].At):
			return nil, fmt.Errorf("%w: time goes back at seq %d", errCorrupt, seq)
		}
	}
	return all, nil
}
