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

// history reads a run's whole journal, as long as its row says, and checks its form: dense from 0, begun once, ended at most once
// and last, times that never go back.
func (t *Turner) history(ctx context.Context, run journal.Run) ([]journal.Entry, error) {
	var all []journal.Entry
	for int64(len(all)) < run.NextSeq {
		page, err := t.cfg.Store.Entries(ctx, run.Tenant, run.ID, int64(len(all)), int(min(historyPage, run.NextSeq-int64(len(all)))))
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
	}
	if int64(len(all)) != run.NextSeq {
		return nil, fmt.Errorf("%w: %d entries of %d", errCorrupt, len(all), run.NextSeq)
	}
	for i, e := range all {
		switch {
		case e.Seq != int64(i):
			return nil, fmt.Errorf("%w: seq %d where %d must be", errCorrupt, e.Seq, i)
		case (e.Kind == journal.KindStarted) != (i == 0):
			return nil, fmt.Errorf("%w: entry %s at seq %d", errCorrupt, e.Kind, i)
		case e.Kind.Terminal() && i != len(all)-1:
			return nil, fmt.Errorf("%w: entries follow the end at seq %d", errCorrupt, i)
		case i > 0 && e.At.Before(all[i-1].At):
			return nil, fmt.Errorf("%w: time goes back at seq %d", errCorrupt, i)
		}
	}
	return all, nil
}
