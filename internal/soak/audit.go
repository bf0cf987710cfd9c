package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"reprise/host/api/wire"
	"reprise/host/client"
)

// sampled is how many runs are read again and replayed at the end.
const sampled = 100

// audit compares the whole with the model once nothing moves any more.
func (d *driver) audit(ctx context.Context) {
	d.s.say("comparing %d runs with the model", len(d.ended))
	d.counters()
	d.keys()
	d.list(ctx)
	rng := rand.New(rand.NewPCG(d.s.cfg.Seed, 1<<63))
	for i, at := range rng.Perm(len(d.ended)) {
		if i == sampled || ctx.Err() != nil {
			break
		}
		d.again(ctx, d.ended[at])
	}
}

func (d *driver) report(k class, format string, args ...any) {
	d.findings = append(d.findings, finding{k, fmt.Sprintf(format, args...)})
}

// counters compares the ledger's counters with what the programs add for sure, and the others with its own keys.
func (d *driver) counters() {
	l := d.s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	want := map[string]int64{}
	for name, n := range d.sure {
		want[name] = n
	}
	for _, r := range l.booked {
		if strings.HasPrefix(r.counter, "maybe") && r.answer != "" {
			want[r.counter] += r.amount
		}
	}
	for name, n := range want {
		switch got := l.counters[name]; {
		case got < n:
			d.report(lost, "counter %s is %d, the model says %d", name, got, n)
		case got > n:
			d.report(duplicated, "counter %s is %d, the model says %d", name, got, n)
		}
	}
	for name, n := range l.counters {
		if _, ok := want[name]; !ok {
			d.report(duplicated, "counter %s is %d, and no program adds to it", name, n)
		}
	}
}

// keys checks that every booking is of a run that was started.
func (d *driver) keys() {
	l := d.s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.booked {
		// tenant/run/handle
		if parts := strings.Split(key, "/"); len(parts) < 3 || !d.started[parts[1]] {
			d.report(duplicated, "key %s is of no run that was started", key)
		}
	}
	d.findings = append(d.findings, l.oddities...)
}

// list checks that the runs that are there are those that were started, each as it was at its end.
func (d *driver) list(ctx context.Context) {
	want := map[string]endedRun{}
	for _, r := range d.ended {
		want[r.id] = r
	}
	if len(want) < len(d.ended) {
		d.report(lost, "%d starts were answered with the runs of others", len(d.ended)-len(want))
	}
	cursor := ""
	for {
		var page wire.Runs
		err := d.s.fleet.call(ctx, 0, func(ctx context.Context, c *client.Client) (err error) {
			page, err = c.Runs(ctx, client.Filter{Workflow: d.s.name, Limit: pageSize, Cursor: cursor})
			return err
		})
		if err != nil {
			d.report(wrong, "list of runs: %v", err)
			return
		}
		for _, r := range page.Runs {
			w, ok := want[r.ID]
			delete(want, r.ID)
			switch {
			case !ok && !d.started[r.ID]:
				d.report(duplicated, "run %s is %s, and nobody started it", r.ID, r.State)
			case !ok: // it has not ended, which was reported
			case r.State != w.state || r.NextSeq != w.entries:
				d.report(wrong, "run %s ended as %s with %d entries, and is %s with %d", r.ID, w.state, w.entries, r.State, r.NextSeq)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	for id := range want {
		d.report(lost, "run %s is not there any more", id)
	}
}

// replayTime is how long a host may take to replay a run, compiling included.
const replayTime = time.Minute

// again checks that an ended run's journal is what it was, and replays.
func (d *driver) again(ctx context.Context, r endedRun) {
	e, err := d.read(ctx, r.id)
	if err != nil {
		d.report(wrong, "run %s: %v", r.id, err)
		return
	}
	if digest(e.entries) != r.hash {
		d.report(duplicated, "the journal of run %s has changed since its end", r.id)
	}
	if len(e.entries) < 2 {
		return // it was cancelled before it began: there is nothing to replay
	}
	var replay wire.Replay
	err = d.s.fleet.call(ctx, replayTime, func(ctx context.Context, c *client.Client) (err error) {
		replay, err = c.Replay(ctx, r.id, "")
		return err
	})
	if err != nil || !replay.OK {
		d.report(wrong, "run %s does not replay: %v %s", r.id, err, replay.Mismatch)
	}
}

// tell fills a report.
func (d *driver) tell(r *Report) {
	c := d.s.chaos
	var odd []string
	r.Kills, odd = deaths(d.s.hosts)
	r.Runs, r.Signals, r.Commands = len(d.ended), d.signals, d.commands
	r.Requests, r.Effects = d.s.ledger.stats()
	r.Freezes, r.Restarts, r.Takeovers = int(c.freezes.Load()), int(c.restarts.Load()), takeovers(d.s.hosts)
	c.mu.Lock()
	defer c.mu.Unlock()
	d.findings = append(d.findings, c.findings...)
	if n := differences(d.s.hosts); n > 0 {
		odd = append(odd, fmt.Sprintf("%d checkpoints were not what a replay gave", n))
	}
	for _, text := range odd {
		d.report(wrong, "%s", text)
	}
	r.add(d.findings...)
}
