package main

import (
	"context"
	"time"

	"reprise/bench/harness"
)

// figures are what quick prints last.
type figures struct {
	// StepsPerS is durable steps a second with 512 workflows of 10 steps in flight.
	StepsPerS float64 `json:"steps_per_s"`
	// FloorRatio is StepsPerS as a part of the floor's, in the same round.
	FloorRatio float64 `json:"floor_ratio"`
	// FloorIndexedRatio is StepsPerS as a part of what the floor does with a server that is kept from reading tables whole.
	FloorIndexedRatio float64 `json:"floor_indexed_ratio"`
	// NaiveRatio is StepsPerS in terms of one transaction a write.
	NaiveRatio float64 `json:"naive_ratio"`
	// P50MS is the time from start to result of a workflow of one step, alone, in milliseconds.
	P50MS float64 `json:"p50_ms"`
	// P50FloorRatio is P50MS in terms of the floor's.
	P50FloorRatio float64 `json:"p50_floor_ratio"`
	// PeerRatio is StepsPerS in terms of the best peer's that could be measured. It is absent when there is none.
	PeerRatio float64 `json:"peer_ratio,omitempty"`
	Peer      string  `json:"peer,omitempty"`
	// PeerP50Ratio is the best peer's time from start to result in terms of P50MS, of the peer that is best at it.
	PeerP50Ratio float64 `json:"peer_p50_ratio,omitempty"`
	PeerP50      string  `json:"peer_p50,omitempty"`
}

// remark is a line in words: what could not be measured, and why.
type remark struct {
	Missing string `json:"missing"`
}

// Quick is bounded: peers are built for so long, and a round begins when it would end within so long after the start.
const (
	quickBuild = 25 * time.Second
	quickLimit = 52 * time.Second
	// quickRounds is how often each cell is measured; systems take turns, and the medians count.
	quickRounds = 3
)

func (b *bench) quick(ctx context.Context) error {
	begun := time.Now()
	many := harness.Cell{Work: harness.Work{Steps: 10}, InFlight: 512, Warm: 0.7, Seconds: 1.5}
	one := harness.Cell{Work: harness.Work{Steps: 1}, InFlight: 1, Warm: 0.2, Seconds: 0.7}
	systems, err := b.prepareOurs(ctx, byHand, group, groupIndexed, naive)
	if err != nil {
		return err
	}
	peers := b.preparePeers(ctx, dbos, restate)
	systems = append(systems, peers...)
	rates, alone := map[string][]float64{}, map[string][]float64{}
	var took time.Duration
	for round := 0; round < quickRounds && time.Since(begun)+took < quickLimit; round++ {
		start := time.Now()
		for _, p := range systems {
			if p.peer != "" && round == quickRounds-1 { // they take longest, and differ most
				continue
			}
			fast, err := b.measure(ctx, p, many)
			if err == nil && p.name != naive.name && p.name != groupIndexed.name {
				var slow harness.Result
				slow, err = b.measure(ctx, p, one)
				alone[p.name] = append(alone[p.name], slow.P50)
			}
			if err != nil && p.name != byHand.name && p.name != group.name {
				if err := print(remark{err.Error()}); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			rates[p.name] = append(rates[p.name], fast.StepsS(many.Work))
		}
		took = time.Since(start)
	}
	return print(quickFigures(rates, alone, peers))
}

// quickFigures compares round by round; the machine's speed changes between them.
func quickFigures(rates, alone map[string][]float64, peers []prepared) figures {
	ratio := func(of map[string][]float64, a, b string) float64 {
		var ratios []float64
		for i := range min(len(of[a]), len(of[b])) {
			ratios = append(ratios, of[a][i]/of[b][i])
		}
		return harness.Median(ratios)
	}
	us := byHand.name
	f := figures{
		StepsPerS: harness.Median(rates[us]), P50MS: harness.Median(alone[us]),
		FloorRatio: ratio(rates, us, group.name), FloorIndexedRatio: ratio(rates, us, groupIndexed.name), NaiveRatio: ratio(rates, us, naive.name),
		P50FloorRatio: ratio(alone, us, group.name),
	}
	for _, p := range peers {
		if r := ratio(rates, us, p.name); r > 0 && (f.Peer == "" || r < f.PeerRatio) {
			f.Peer, f.PeerRatio = p.name, r
		}
		if r := ratio(alone, p.name, us); r > 0 && (f.PeerP50 == "" || r < f.PeerP50Ratio) {
			f.PeerP50, f.PeerP50Ratio = p.name, r
		}
	}
	return f
}

// prepareOurs is for systems without which nothing is measured.
func (b *bench) prepareOurs(ctx context.Context, systems ...system) ([]prepared, error) {
	var all []prepared
	for _, s := range systems {
		p, err := b.prepare(ctx, s)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// preparePeers leaves out what cannot be had in time.
func (b *bench) preparePeers(ctx context.Context, systems ...system) []prepared {
	ctx, cancel := context.WithTimeout(ctx, quickBuild)
	defer cancel()
	var all []prepared
	for _, s := range systems {
		p, err := b.prepare(ctx, s)
		if err != nil {
			_ = print(remark{err.Error()})
			continue
		}
		all = append(all, p)
	}
	return all
}
