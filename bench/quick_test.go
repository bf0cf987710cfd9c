package main

import (
	"testing"
)

func TestQuickFiguresCompareRoundByRound(t *testing.T) {
	rates := map[string][]float64{
		"reprise": {100, 200, 300}, "floor": {400, 400, 400}, "floor_indexed": {1000, 1000, 1000}, "naive": {50, 50},
		"dbos": {10, 20}, "restate": {20, 50},
	}
	alone := map[string][]float64{"reprise": {1, 2, 3}, "floor": {1, 1, 1}, "dbos": {2, 4}, "restate": {7}}
	got := quickFigures(rates, alone, []prepared{{system: dbos}, {system: restate}, {system: system{name: "absent"}}})
	want := figures{StepsPerS: 200, FloorRatio: 0.5, FloorIndexedRatio: 0.2, NaiveRatio: 4, P50MS: 2, P50FloorRatio: 2,
		PeerRatio: 5, Peer: "restate", PeerP50Ratio: 2, PeerP50: "dbos"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
