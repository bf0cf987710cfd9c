package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// benchGuestsDocEnv names the page whose table BenchmarkGuests rewrites. Unset: it only prints.
const benchGuestsDocEnv = "REPRISE_BENCH_GUESTS_DOC"

// The marks of the part of GUESTS.md that is generated.
const (
	guestsBegin = "<!-- begin: make bench-guests -->"
	guestsEnd   = "<!-- end: make bench-guests -->"
)

// conformanceGuests are the languages, by the name in the file and for people.
var conformanceGuests = [][2]string{{"go", "Go"}, {"ts", "TypeScript"}, {"rust", "Rust"}, {"c", "C"}, {"cpp", "C++"}, {"assemblyscript", "AssemblyScript"}, {"zig", "Zig"}}

// guestFigures is one line of the result: medians.
type guestFigures struct {
	Language    string  `json:"language"`
	ModuleKB    float64 `json:"module_kb"`
	CompileMS   float64 `json:"compile_ms"`
	RunUS       float64 `json:"run_us"`         // instance made, a workflow without a wait, ended
	StepUS      float64 `json:"step_us"`        // an activity, which has an instance of its own, and the wait for it
	ReplayUS    float64 `json:"replay_step_us"` // the same from the journal
	InstanceKB  float64 `json:"instance_kb"`    // memory of one that waits
	SuspendedKB float64 `json:"suspended_kb"`   // bytes of its checkpoint, when it is suspended
}

// BenchmarkGuests measures the conformance program of each language, on a journal in memory.
func BenchmarkGuests(b *testing.B) {
	for b.Loop() {
		var all []guestFigures
		enc := json.NewEncoder(os.Stdout)
		for _, l := range conformanceGuests {
			g := &guestBench{TB: b, ctx: context.Background()}
			f := g.measure(l[0])
			f.Language = l[1]
			all = append(all, f)
			if err := enc.Encode(f); err != nil {
				b.Fatal(err)
			}
		}
		if page := os.Getenv(benchGuestsDocEnv); page != "" {
			if err := writeGuests(page, all); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(0, "ns/op")
	}
}

// guestBench measures one module.
type guestBench struct {
	testing.TB
	ctx    context.Context
	code   []byte
	digest modules.Digest
	engine *sandbox.Engine
	runs   int
}

func (g *guestBench) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *guestBench) measure(language string) (f guestFigures) {
	path := "../../../.cache/guests/conformance-" + language + ".wasm"
	code, err := os.ReadFile(path)
	if err != nil {
		g.Fatalf("%v: `make guests` builds it", err)
	}
	g.code, g.digest = code, modules.DigestOf(code)
	f.ModuleKB = float64(len(code)) / 1000
	f.CompileMS = g.medianOf(3, func() time.Duration {
		e, err := sandbox.New(g.ctx, sandbox.Config{})
		g.must(err)
		begin := time.Now()
		p, err := modules.Prepare(g.ctx, code)
		g.must(err)
		_, err = e.Load(g.ctx, p)
		g.must(err)
		took := time.Since(begin)
		g.must(e.Close(g.ctx))
		return took
	}) / 1000
	g.engine, err = sandbox.New(g.ctx, sandbox.Config{})
	g.must(err)
	const steps = 50 // its result is a number that every language holds
	none := g.medianOf(60, func() time.Duration { return g.took("sequential", "0", "1") })
	some := g.medianOf(20, func() time.Duration { return g.took("sequential", strconv.Itoa(steps), strconv.Itoa(1<<steps)) })
	f.RunUS, f.StepUS = none, (some-none)/steps
	f.ReplayUS = (g.replays("sequential", steps) - g.replays("sequential", 0)) / steps
	f.InstanceKB = g.waiting()
	f.SuspendedKB = g.suspended()
	g.must(g.engine.Close(g.ctx))
	return f
}

// medianOf repeats a measurement, in microseconds; a first one warms everything up and does not count.
func (g *guestBench) medianOf(reps int, once func() time.Duration) float64 {
	once()
	took := make([]time.Duration, reps)
	for i := range took {
		took[i] = once()
	}
	slices.Sort(took)
	return float64(took[reps/2].Nanoseconds()) / 1000
}

func (g *guestBench) store(workflow, input string) *memStore {
	g.runs++
	s := newMemStore(journal.Run{Tenant: tenant.Default, ID: journal.RunID{byte(g.runs >> 8), byte(g.runs), 1}, Workflow: "conformance", Entry: workflow,
		Digest: g.digest, Input: []byte(input), State: journal.Ready})
	s.mods[s.run.Digest] = g.code
	return s
}

func (g *guestBench) turner(s *memStore, clock Clock, c Checkpoints) *Turner {
	t := New(Config{Store: s, Engine: g.engine, Clock: clock, HoldFor: time.Hour, MaxAttempts: 1 << 30, Logger: slog.New(slog.DiscardHandler), Checkpoints: c,
		Ended: func(journal.RunID, *journal.Run) {}})
	t.owned.Store(ownedModule{tenant.Default, g.digest}, true) // as in a host that has run it before
	return t
}

// played runs a workflow to its end.
func (g *guestBench) played(workflow, input, want string) *memStore {
	s := g.store(workflow, input)
	g.turner(s, systemClock{}, Checkpoints{}).Open(s.claim()).Run(g.ctx)
	if s.run.State != journal.Completed || string(s.run.Output) != want {
		g.Fatalf("%s(%s): got %s, %s (%s); want %s", workflow, input, s.run.State, s.run.Output, s.run.Reason, want)
	}
	return s
}

func (g *guestBench) took(workflow, input, want string) time.Duration {
	begin := time.Now()
	g.played(workflow, input, want)
	return time.Since(begin)
}

// replays is how long the replay of a whole run takes, in microseconds.
func (g *guestBench) replays(workflow string, steps int) float64 {
	s := g.played(workflow, strconv.Itoa(steps), strconv.Itoa(1<<steps))
	t := g.turner(s, systemClock{}, Checkpoints{})
	return g.medianOf(30, func() time.Duration {
		begin := time.Now()
		r, err := t.Replay(g.ctx, s.run, s.run.Digest)
		g.must(err)
		if r.Mismatch != nil {
			g.Fatal(r.Mismatch)
		}
		return time.Since(begin)
	})
}

// still is a clock that stands: a timer on it never fires.
type still struct{ at time.Time }

func (c still) Now() time.Time { return c.at }

// waiting is the memory of an instance that waits for a timer, in KB: what many of them add to this process.
func (g *guestBench) waiting() float64 {
	const many = 200
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel()
	var turns sync.WaitGroup
	before := privateKB(g)
	for range many {
		s := g.store("panics", "null") // waits for a timer before all else
		t := g.turner(s, still{time.Now()}, Checkpoints{})
		turns.Go(func() { t.Open(s.claim()).Run(ctx) })
	}
	grown := 0.0
	for range 100 { // until nothing is added any more
		time.Sleep(50 * time.Millisecond)
		now := privateKB(g) - before
		if now <= grown {
			break
		}
		grown = now
	}
	cancel()
	turns.Wait()
	return grown / many
}

// privateKB is the memory of this process that it shares with no other, in KB.
func privateKB(g *guestBench) float64 {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	g.must(err)
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && (f[0] == "Private_Dirty:" || f[0] == "Private_Clean:") {
			kb, err := strconv.ParseFloat(f[1], 64)
			g.must(err)
			sum += kb * 1.024
		}
	}
	return sum
}

// suspended is the size of the checkpoint of a run that waits for a signal, in KB.
func (g *guestBench) suspended() float64 {
	s := g.store("signal", "null")
	g.turner(s, systemClock{}, Checkpoints{Every: 1}).Open(s.claim()).Run(g.ctx)
	if s.run.State != journal.Waiting || s.cp == nil {
		g.Fatalf("signal: got %s (%s), checkpoint %v; want waiting with one", s.run.State, s.run.Reason, s.cp != nil)
	}
	return float64(len(s.cp.Packed)) / 1000
}

// writeGuests rewrites the generated part of the page.
func writeGuests(page string, all []guestFigures) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(guestsBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(guestsEnd))
	if !ok || !ok2 {
		return fmt.Errorf("%s does not have the marks of the generated part", page)
	}
	var s strings.Builder
	s.WriteString(measuredAt())
	s.WriteString("| language | module, KB | checked and compiled, ms | a run without a wait, µs | a step, µs | a step replayed, µs | instance that waits, KB | checkpoint of a suspended run, KB |\n")
	s.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, f := range all {
		fmt.Fprintf(&s, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", f.Language, threeDigits(f.ModuleKB), threeDigits(f.CompileMS), threeDigits(f.RunUS),
			threeDigits(f.StepUS), threeDigits(f.ReplayUS), threeDigits(f.InstanceKB), threeDigits(f.SuspendedKB))
	}
	return os.WriteFile(page, fmt.Appendf(nil, "%s%s\n\n%s\n%s%s", before, guestsBegin, s.String(), guestsEnd, after), 0o644)
}
