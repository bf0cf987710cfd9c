package postgres

import (
	"bytes"
	"testing"

	"reprise/journal"
	"reprise/journal/internal/payload"
)

// largeBatch has one payload in every place that a batch has.
func largeBatch(p []byte) journal.Batch {
	b := journal.Batch{Entries: entries(0, 10), Stash: []journal.Arrival{{ID: "op:1", Kind: journal.ArrivalDone, Op: 1, Payload: p}},
		Published: []journal.Published{{Key: "k", Value: p}}}
	for i := range b.Entries {
		b.Entries[i].Request, b.Entries[i].Payload = p, bytes.Clone(p)
	}
	return b
}

func TestAPayloadIsStoredOnce(t *testing.T) {
	f := newFixture(t)
	p := bytes.Repeat([]byte("payload "), 100_000)
	for _, l := range f.ownedMany(2) {
		_, err := f.s.Commit(t.Context(), l, largeBatch(p))
		f.must(err)
		_, err = f.s.Signal(t.Context(), acme, l.Run, "s1", "paid", p)
		f.must(err)
		_, err = f.s.Commit(t.Context(), l, journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: p}})
		f.must(err)
	}
	var n, stored, held, names int
	f.queryRow(`SELECT count(*), sum(octet_length(bytes)) FROM reprise.payloads`, &n, &stored)
	if n != 1 || stored > len(p)/100 {
		t.Errorf("payloads: got %d of %d bytes, want 1 of few", n, stored)
	}
	f.queryRow(`SELECT max(octet_length(payload_held)) FROM reprise.entries`, &held)
	f.queryRow(`SELECT count(*) FROM reprise.payload_names`, &names)
	if held != 32 || names != 2*4 { // kept, stash, signal, published
		t.Errorf("got %d bytes in an entry and %d names, want a digest and 8", held, names)
	}
}

// TestWhatIsCompressedIsNotCompressedAgain: Postgres would only try in vain.
func TestWhatIsCompressedIsNotCompressedAgain(t *testing.T) {
	f := newFixture(t)
	l := f.owned()
	p := bytes.Repeat([]byte("payload "), 100_000)
	_, err := f.s.Commit(t.Context(), l, largeBatch(p))
	f.must(err)
	var storage string
	f.queryRow(`SELECT attstorage FROM pg_attribute WHERE attrelid = 'reprise.payloads'::regclass AND attname = 'bytes'`, &storage)
	if storage != "e" {
		t.Errorf("storage: got %q, want external", storage)
	}
}

func TestASmallPayloadCostsNoRow(t *testing.T) {
	f := newFixture(t)
	l := f.owned()
	_, err := f.s.Commit(t.Context(), l, largeBatch(make([]byte, payload.Inline)))
	f.must(err)
	var n int
	f.queryRow(`SELECT (SELECT count(*) FROM reprise.payloads) + (SELECT count(*) FROM reprise.payload_names)`, &n)
	if n != 0 {
		t.Errorf("rows: got %d, want 0", n)
	}
}

// TestAFencedBatchStoresNoPayload, although it shares its statement with one that is written.
func TestAFencedBatchStoresNoPayload(t *testing.T) {
	f := newFixture(t)
	ls := f.ownedMany(2)
	ls[0].Token++
	var group []*commit
	for i, l := range ls {
		b, err := normalise(largeBatch(bytes.Repeat([]byte{byte(i)}, payload.Inline+1)))
		f.must(err)
		group = append(group, &commit{lease: l, batch: b, packed: pack(b)})
	}
	results, err := f.s.execGroup(t.Context(), f.s.pool, group)
	f.must(err)
	if results[0].written || !results[1].written {
		t.Fatalf("written: got %v and %v, want false and true", results[0].written, results[1].written)
	}
	var got []byte
	f.queryRow(`SELECT digest FROM reprise.payloads`, &got)
	same(t, "digest", got, group[1].packed.Packed[0].Digest)
}

// TestADamagedPayload: what was not damaged is read, and the rest says so.
func TestADamagedPayload(t *testing.T) {
	p := bytes.Repeat([]byte("payload "), 100_000)
	for name, damage := range map[string]string{
		"a bit":   `UPDATE reprise.payloads SET bytes = set_byte(bytes, 20, get_byte(bytes, 20) # 1)`,
		"cut":     `UPDATE reprise.payloads SET bytes = ''`,
		"missing": `DELETE FROM reprise.payloads`,
		"codec":   `UPDATE reprise.payloads SET codec = 9`,
		"size":    `UPDATE reprise.payloads SET size = size + 1`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			ctx, l := t.Context(), f.owned()
			_, err := f.s.Commit(ctx, l, largeBatch(p))
			f.must(err)
			r, _, err := f.s.Create(ctx, journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest, Input: p})
			f.must(err)
			_, err = f.conn.Exec(ctx, damage)
			f.must(err)
			_, err1 := f.s.Entries(ctx, acme, l.Run, 0, 10)
			_, err2 := f.s.Arrivals(ctx, acme, l.Run, 0)
			_, err3 := f.s.Published(ctx, acme, l.Run)
			got, err4 := f.s.Run(ctx, acme, r.ID)
			for i, err := range []error{err1, err2, err3, err4} {
				if !isErr(err, journal.ErrPayload) {
					t.Errorf("read %d: got %v, want %v", i, err, journal.ErrPayload)
				}
			}
			if got.ID != r.ID || got.Input != nil || got.State != journal.Ready {
				t.Errorf("run: got %s %s with %d bytes of input, want it without", got.ID, got.State, len(got.Input))
			}
			cs, err := f.s.Claim(ctx, l.Node, journal.Want{Limit: 10})
			if err != nil || len(cs.Claims) != 1 || !isErr(cs.Claims[0].Unreadable, journal.ErrPayload) {
				t.Fatalf("claim: got %d runs, %v; want the run, unreadable", len(cs.Claims), err)
			}
			_, err = f.s.Commit(ctx, cs.Claims[0].Lease, journal.Batch{Next: &journal.Transition{State: journal.Blocked, Reason: "payload_unreadable: x"}})
			f.must(err)
			if got, err := f.s.RequestCancel(ctx, acme, r.ID, "give up"); err != nil || got.State != journal.Cancelled {
				t.Errorf("cancel: got %s, %v, want cancelled", got.State, err)
			}
		})
	}
}

// TestAPayloadThatIsSweptMeanwhileIsWrittenAgain: a commit finds a payload there, which a sweeper removes before it commits.
func TestAPayloadThatIsSweptMeanwhileIsWrittenAgain(t *testing.T) {
	f := newFixture(t)
	ls := f.ownedMany(2)
	p := bytes.Repeat([]byte("payload "), 100_000)
	b := largeBatch(p)
	_, err := f.s.Commit(t.Context(), ls[0], b)
	f.must(err)
	tx, err := f.conn.Begin(t.Context())
	f.must(err)
	sweeper := lock{f, tx}
	sweeper.exec(`SELECT FROM reprise.payloads FOR UPDATE`)
	done := make(chan error, 1)
	go func() {
		_, err := f.s.Commit(t.Context(), ls[1], b)
		done <- err
	}()
	f.waitBlocked(1)
	sweeper.exec(`DELETE FROM reprise.payloads`)
	sweeper.commit()
	f.must(<-done)
	same(t, "payload", f.entries(ls[1].Run)[0].Payload, p)
}

// TestStatementsOfLargePayloads counts round trips with large payloads.
func TestStatementsOfLargePayloads(t *testing.T) {
	count := &counter{}
	b := newTestbed(t)
	b.cfg.tracer = count
	f := newFixtureOn(t, b)
	l := f.owned()
	ctx := t.Context()
	p := bytes.Repeat([]byte("payload "), 100_000)
	for _, c := range []struct {
		name string
		want int
		do   func() error
	}{
		{"create", 1, func() error {
			_, _, err := f.s.Create(ctx, journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest, Input: p})
			return err
		}},
		{"claim", 2, func() error { _, err := f.s.Claim(ctx, l.Node, journal.Want{Limit: 10}); return err }},
		{"commit", 1, func() error { _, err := f.s.Commit(ctx, l, largeBatch(p)); return err }},
		{"signal", 1, func() error { _, err := f.s.Signal(ctx, acme, l.Run, "s1", "paid", p); return err }},
		{"signal again", 2, func() error { _, err := f.s.Signal(ctx, acme, l.Run, "s1", "paid", p); return err }},
		{"entries", 2, func() error { _, err := f.s.Entries(ctx, acme, l.Run, 0, 10); return err }},
		{"arrivals", 2, func() error { _, err := f.s.Arrivals(ctx, acme, l.Run, 0); return err }},
		{"published", 2, func() error { _, err := f.s.Published(ctx, acme, l.Run); return err }},
	} {
		got := count.of(func() {
			if err := c.do(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		})
		if len(got) != c.want {
			t.Errorf("%s: got %d statements, want %d", c.name, len(got), c.want)
		}
	}
}

// TestSmallPayloadsAreWrittenAsBefore: a group without large payloads has a statement that does not mention them.
func TestSmallPayloadsAreWrittenAsBefore(t *testing.T) {
	c := &commit{batch: journal.Batch{Entries: entries(0, 1)}}
	for want, group := range map[string][]*commit{oneSQL: {c}, entriesOnlySQL: {c, c}} {
		if got, args := groupStatement(group); got != want || len(args) != 28 {
			t.Errorf("statement of %d with entries: got one of %d bytes with %d parameters, want %d and 28", len(group), len(got), len(args), len(want))
		}
	}
	for _, sql := range []string{oneSQL, entriesOnlySQL, wholeSQL} {
		if bytes.Contains([]byte(sql), []byte("payload_names")) {
			t.Error("a statement without large payloads mentions their names")
		}
	}
}
