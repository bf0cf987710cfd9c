package main

import "testing"

func TestCollectPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 800, 4 << 20: 800, 10 << 20: 800, 15 << 20: 400, 30 << 20: 200, 45 << 20: 100, 60 << 20: 100, 8 << 30: 100} {
		if got := collectPercent(live); got != want {
			t.Errorf("%d MiB live: got %d percent, want %d", live>>20, got, want)
		}
	}
}
