package sqlite

import (
	"path/filepath"
	"sync"
	"testing"

	"reprise/journal"
)

// BenchmarkCommit appends one entry a commit to 64 runs at once, and counts rows a second.
func BenchmarkCommit(b *testing.B) {
	const runs = 64
	ctx := b.Context()
	s, leases := started(b, Config{Path: filepath.Join(b.TempDir(), "journal.db")}, runs)
	payload := make([]byte, 200)
	var wg sync.WaitGroup
	b.ResetTimer()
	for i, l := range leases {
		wg.Go(func() {
			for seq := range int64((b.N + runs - 1 - i) / runs) {
				_, err := s.Commit(ctx, l, journal.Batch{Entries: []journal.Entry{{Seq: seq, Kind: journal.KindEffect, Name: "http.request", Request: payload, Payload: payload}}})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
