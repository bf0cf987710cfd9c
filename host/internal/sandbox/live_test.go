package sandbox

import (
	"testing"
)

// TestLiveInstances: so many Go programs that wait fit into 2 GB, and each of them goes on to its own result.
func TestLiveInstances(t *testing.T) {
	c := crowd{Language: "go", File: savedGuest(t, "go"), Way: fromShared, N: 10_000}
	if raceDetector {
		c.N /= 10
	}
	seen, err := gather(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instances: %d MB, %.0f KB each; page tables %d MB, Go heap %d MB; begun in %v, ended in %v", c.N, (seen.Private+seen.Tables)>>20,
		seen.perInstance(c.N)/1024, seen.Tables>>20, seen.Heap>>20, seen.Begin, seen.End)
	const most = 2_000_000_000
	if got := seen.Private + seen.Tables; got > most {
		t.Errorf("got %d bytes for %d instances, want at most %d", got, c.N, int64(most))
	}
	for _, wrong := range seen.Wrong {
		t.Error(wrong)
	}
}
