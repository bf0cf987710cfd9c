package exec

import (
	"maps"
	"sync"
	"time"
)

// Counts is what has become of checkpoints since the turner was made.
type Counts struct {
	// Written counts checkpoints that were made, WrittenBytes their bytes as stored, Freezing the time that making them took
	// beside the guests.
	Written, WrittenBytes int64
	Freezing              time.Duration
	// Thawed counts tries of turns that went on from a checkpoint, ThawedBytes their bytes as stored, Opening the time that reading and
	// unpacking them took, Skipped the entries that they did not replay.
	Thawed, ThawedBytes int64
	Opening             time.Duration
	Skipped             int64
	// Verified counts checkpoints that were compared with a replay, Different those that were not the same, Verifying the time that
	// comparing took.
	Verified, Different int64
	Verifying           time.Duration
	// Evicted counts instances that were frozen to make room for others while their turns went on, EvictedBytes what was
	// kept of them, Returned those that were carried on in the same turn.
	Evicted, EvictedBytes, Returned int64
	// Queries counts copies that were asked, Asking the time that making and asking them took.
	Queries int64
	Asking  time.Duration
	// Forked counts copies of runs that go on, ForkedThawed those of them that have a checkpoint.
	Forked, ForkedThawed int64
	// Fallbacks counts by reason how often a checkpoint was not made, or not used.
	Fallbacks map[string]int64
}

// counts keeps Counts. It is safe for concurrent use.
type counts struct {
	mu  sync.Mutex
	now Counts
}

// Counts returns what has been counted.
func (t *Turner) Counts() Counts {
	t.counts.mu.Lock()
	defer t.counts.mu.Unlock()
	c := t.counts.now
	c.Fallbacks = maps.Clone(c.Fallbacks)
	return c
}

func (c *counts) add(f func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.now)
}

func (c *counts) fallback(why string) {
	c.add(func(n *Counts) {
		if n.Fallbacks == nil {
			n.Fallbacks = map[string]int64{}
		}
		n.Fallbacks[why]++
	})
}

func (c *counts) froze(bytes int, took time.Duration) {
	c.add(func(n *Counts) { n.Written++; n.WrittenBytes += int64(bytes); n.Freezing += took })
}

// opened counts a checkpoint that can be used, and says whether it is the one of so many that is verified.
func (c *counts) opened(seq int64, bytes int, took time.Duration, of int64) (verify bool) {
	c.add(func(n *Counts) {
		n.Thawed++
		n.ThawedBytes += int64(bytes)
		n.Opening += took
		n.Skipped += seq
		verify = of > 0 && n.Thawed%of == 0
	})
	return verify
}
