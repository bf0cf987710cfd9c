package soak

import (
	"math/rand/v2"
	"slices"
)

// Counters: what programs book for sure is compared with the model, what they may give up with the ledger's own keys.
const (
	sureCounters  = 32
	maybeCounters = 8
)

// writer writes a random program.
type writer struct {
	assembler
	rng *rand.Rand
}

// generate is program number n of a seed: always the same.
func generate(seed uint64, n int, ledger string) program {
	w := &writer{rng: rand.New(rand.NewPCG(seed, uint64(n)+1)), assembler: assembler{ledger: ledger, program: program{number: n, sure: true, state: "completed"}}}
	switch kind := w.rng.IntN(100); {
	case kind < 78:
		w.steps(3 + w.rng.IntN(12))
		w.emit(cmdEnd)
	case kind < 85: // its failure is its own
		w.steps(2 + w.rng.IntN(6))
		w.state, w.failure = "failed", "soak_failed"
		w.emit(cmdFail, []byte(`{"code":"soak_failed","message":"as the program says"}`))
	case kind < 93: // it handles its cancellation, and cleans up
		w.cancelled, w.state, w.failure = true, "cancelled", "cancelled"
		slot := w.take()
		w.emit(cmdCancels, slot)
		w.steps(2 + w.rng.IntN(6))
		w.await(awaitAll, endless, slot)
		w.await(awaitAll, endless, w.add())
		w.emit(cmdFail, []byte(`{"code":"cancelled","message":"cleaned up"}`))
	default: // its cancellation ends it anywhere
		w.cancelled, w.sure, w.state, w.failure = true, false, "cancelled", "cancelled"
		w.steps(2 + w.rng.IntN(6))
		slot := w.slot(op{kind: "signal", name: "never"})
		w.emit(cmdSignal, slot, "never")
		w.await(awaitAll, endless, slot)
		w.emit(cmdEnd)
	}
	return w.program
}

// steps adds n random steps.
func (w *writer) steps(n int) {
	kinds := []struct {
		weight int
		step   func()
	}{
		{20, w.oneAdd}, {15, w.parallelAdds}, {10, w.shortTimer}, {1, w.longTimer}, {12, w.signalled}, {8, w.worked},
		{8, w.flakyAdd}, {4, w.refused}, {6, w.givenUp}, {3, w.abandoned}, {6, w.race}, {5, w.look}, {5, w.impatient},
		{6, w.published}, {6, func() { w.emit(cmdRandom) }},
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	for range n {
		at := w.rng.IntN(total)
		for _, k := range kinds {
			if at -= k.weight; at < 0 {
				k.step()
				break
			}
		}
	}
}

func (w *writer) booking() *booking {
	kind, n := "sure", sureCounters
	if !w.sure {
		kind, n = "maybe", maybeCounters
	}
	return &booking{kind + number(w.rng.IntN(n)), 1 + w.rng.Int64N(1000)}
}

func number(n int) string { return string([]byte{'0' + byte(n/10), '0' + byte(n%10)}) }

// patient tries an effect again until it is done: nothing but the chaos makes it fail.
const patient = `{"retry":{"attempts":1000,"backoff_ms":10,"max_backoff_ms":200}}`

// add asks for an addition, some of which are answered late.
func (w *writer) add() byte {
	path := "/add"
	if w.rng.IntN(4) == 0 {
		path += "?ms=" + number(w.rng.IntN(100))
	}
	return w.effect(op{add: w.booking()}, path, patient, noSlot)
}

func (w *writer) oneAdd() { w.await(awaitAll, endless, w.add()) }

func (w *writer) parallelAdds() {
	var slots []byte
	for range 2 + w.rng.IntN(5) {
		slots = append(slots, w.add())
	}
	if w.rng.IntN(2) == 0 {
		w.await(awaitOne, endless, slots...)
	}
	w.await(awaitAll, endless, slots...)
	if w.rng.IntN(3) == 0 {
		w.emit(cmdDrop, slots[0])
	}
}

func (w *writer) timer(ms int) byte {
	slot := w.slot(op{kind: "timer"})
	w.emit(cmdTimer, slot, uint64(ms)*1_000_000)
	return slot
}

func (w *writer) shortTimer() { w.await(awaitAll, endless, w.timer(1+w.rng.IntN(50))) }
func (w *writer) longTimer()  { w.await(awaitAll, endless, w.timer(1000+w.rng.IntN(2000))) }

// signal waits for a new signal.
func (w *writer) signal() byte {
	s := signal{name: "go" + number(w.rng.IntN(3)), amount: 1 + w.rng.Int64N(1000), twice: w.rng.IntN(4) == 0}
	if w.rng.IntN(2) == 0 {
		s.delay = w.rng.IntN(200)
	}
	w.signals = append(w.signals, s)
	slot := w.slot(op{kind: "signal", name: s.name})
	w.emit(cmdSignal, slot, s.name)
	return slot
}

// signalled waits for a signal and books its payload.
func (w *writer) signalled() {
	slot := w.signal()
	w.await(awaitAll, endless, slot)
	b := w.booking()
	b.amount = w.signals[len(w.signals)-1].amount
	w.await(awaitAll, endless, w.effect(op{add: b}, "/add", patient, slot))
}

func (w *writer) worked() {
	w.await(awaitAll, endless, w.activity(op{add: w.booking()}, patient))
}

// flakyAdd is refused at first.
func (w *writer) flakyAdd() {
	w.await(awaitAll, endless, w.effect(op{add: w.booking()}, "/add?fails="+number(1+w.rng.IntN(3)), patient, noSlot))
}

// refused fails for good, and the program goes on.
func (w *writer) refused() {
	b := &booking{"refused", 1}
	w.await(awaitAll, endless, w.effect(op{add: b, fails: true}, "/refuse", `{"retry":{"attempts":2,"backoff_ms":5}}`, noSlot))
}

// givenUp cancels what is pending.
func (w *writer) givenUp() {
	var slot byte
	switch w.rng.IntN(3) {
	case 0:
		slot = w.slot(op{kind: "timer", optional: true})
		w.emit(cmdTimer, slot, uint64(3600_000_000_000))
	case 1:
		slot = w.slot(op{kind: "signal", name: "never", optional: true})
		w.emit(cmdSignal, slot, "never")
	default:
		b := &booking{"maybe" + number(w.rng.IntN(maybeCounters)), 1 + w.rng.Int64N(1000)}
		slot = w.effect(op{add: b, optional: true}, "/add?ms=50", patient, noSlot)
	}
	if w.rng.IntN(2) == 0 {
		w.oneAdd() // so that what is cancelled has left the host
	}
	w.emit(cmdCancel, slot)
}

// abandoned is never waited for.
func (w *writer) abandoned() {
	b := &booking{"maybe" + number(w.rng.IntN(maybeCounters)), 1 + w.rng.Int64N(1000)}
	w.effect(op{add: b, optional: true}, "/add", patient, noSlot)
}

// race waits for whatever comes first, and then for the rest.
func (w *writer) race() {
	slots := []byte{w.timer(1 + w.rng.IntN(100)), w.add()}
	if w.rng.IntN(2) == 0 {
		slots = append(slots, w.signal())
	}
	w.await(awaitOne, endless, slots...)
	w.rng.Shuffle(len(slots), func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
	w.await(awaitAll, endless, slots...)
}

// look asks what is there without waiting.
func (w *writer) look() {
	slots := []byte{w.add(), w.add()}
	w.await(awaitOnce, 0, slots...)
	w.emit(cmdRandom)
	w.await(awaitOnce, 0, slots...)
	w.await(awaitAll, endless, slots...)
}

// impatient waits for a moment before it waits for as long as it takes.
func (w *writer) impatient() {
	slot := w.add()
	w.await(awaitOnce, uint64(1+w.rng.IntN(20))*1_000_000, slot)
	w.await(awaitAll, endless, slot)
}

func (w *writer) published() { w.emit(cmdPublish, "sums") }

// bookings are what a program books for sure.
func (p program) bookings() []booking {
	var bs []booking
	for _, o := range p.ops {
		if o.add != nil && p.sure && !o.optional && !o.fails {
			bs = append(bs, *o.add)
		}
	}
	return bs
}

// names are the signals' names of a program, each once.
func (p program) names() []string {
	var names []string
	for _, s := range p.signals {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}
