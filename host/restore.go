package host

import (
	"context"
	"fmt"
)

// restoredReason is why a run of a restored journal is paused.
const restoredReason = "restored: the journal was restored from a backup, and what the run did since then is not in it"

// holdAtOnce bounds the runs that one call of the store pauses.
const holdAtOnce = 500

// hold pauses every run that would go on by itself. Nothing is claimed before it has come to an end; when it is cut off, the next
// Start with Config.Restored goes on.
func (h *Host) hold(ctx context.Context) error {
	nodes := 0
	for more := true; more; {
		held, err := h.cfg.Store.Hold(ctx, restoredReason, holdAtOnce)
		if err != nil {
			return fmt.Errorf("pause the runs of a restored journal: %w", err)
		}
		h.held += held.Runs
		nodes += held.Nodes
		more = held.More
	}
	h.cfg.Logger.Warn("the journal was restored: its open runs are paused until they are resumed; start the node without this setting from now on, for it pauses what was resumed, too",
		"runs", h.held, "nodes_ended", nodes)
	return nil
}

// Held is how many runs Start has paused because of Config.Restored.
func (h *Host) Held() int { return h.held }
