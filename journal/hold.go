package journal

import "context"

// Held says what one call of Hold did.
type Held struct {
	Runs  int  // that it paused
	Nodes int  // whose registrations it ended
	More  bool // whether to call again: it found something
}

// Holder stops everything that a journal has under way.
type Holder interface {
	// Hold ends the registration of every node, and then pauses at most limit of the runs, of all tenants, that are ready, running or
	// waiting, with a reason and with HoldTokens more on their tokens. What is in their journals and inboxes stays; Resume
	// makes them ready. It is to be called until it has found nothing; after a crash the next call goes on.
	Hold(ctx context.Context, reason string, limit int) (Held, error)
}

// HoldTokens is what Hold adds to a token: more than the times that a run was claimed between a backup and its
// restoration, so that no token of that time is given out again.
const HoldTokens = 1 << 20
