package exec

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
)

// summing is a run of testdata/guests/c/query.c that has taken so many signals of 5, and waits.
func summing(t *testing.T, signals int, every int64) *harness {
	t.Helper()
	code, err := os.ReadFile("../../../testdata/guests/c/query.wasm")
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, "echo", "1000", nil)
	h.store.run.Digest = modules.DigestOf(code)
	h.store.mods[modules.DigestOf(code)] = code
	h.turner.cfg.Limits, h.turner.cfg.Checkpoints = abi.DefaultLimits(), Checkpoints{Every: every}
	h.turn()
	for i := range signals {
		h.store.arrive(journal.Arrival{ID: fmt.Sprint("signal:", i), Kind: journal.ArrivalSignal, Op: journal.NoOp, Name: "add", Payload: []byte("5")})
		h.turn()
	}
	if r := h.snapshot(); r.State != journal.Waiting || r.NextSeq != int64(signals)+1 || (r.CheckpointSeq > 0) != (every > 0) {
		t.Fatalf("got %s with %d entries, checkpoint %d", r.State, r.NextSeq, r.CheckpointSeq)
	}
	return h
}

// digest is of everything that the store has of the run.
func (h *harness) digest() string {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	s := h.store
	sum := sha256.New()
	fmt.Fprintf(sum, "%+v\n%+v\n%+v\n%v\n%v\n%d\n", s.run, s.entries, s.inbox, s.seenIDs, s.pub, s.commits)
	if s.cp != nil {
		fmt.Fprintf(sum, "%+v", *s.cp)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// TestQuery asks a run where its journal ends: replayed, from its checkpoint, and from one with entries behind it. However often
// and whatever it is asked, the run is as it was, and comes to the same end.
func TestQuery(t *testing.T) {
	for name, every := range map[string]int64{"replayed": 0, "from its checkpoint": 1, "behind its checkpoint": 4} {
		t.Run(name, func(t *testing.T) {
			h := summing(t, 6, every)
			before := h.digest()
			for range 3 {
				out, failure, err := h.turner.Query(t.Context(), h.snapshot(), "sum", []byte("7"))
				if want := `{"kind":2,"sum":37,"taken":6,"asked":1}`; err != nil || failure != nil || string(out) != want {
					t.Fatalf("got %s, %v, %v, want %s", out, failure, err, want)
				}
			}
			for query, want := range map[string]string{
				"effect": "abi_misuse: effect: a query", "activity": "abi_misuse: activity: a query", "timer": "abi_misuse: timer: a query",
				"signal": "abi_misuse: signal: a query", "wait": "abi_misuse: wait: a query", "look": "abi_misuse: wait: a query",
				"publish": "abi_misuse: publish: a query", "cancel": "abi_misuse: cancel: a query", "spin": "out_of_gas: ",
				"trap": "trap: ", "nothing like it": "unknown_query: there is no such query",
			} {
				_, failure, err := h.turner.Query(t.Context(), h.snapshot(), query, nil)
				if err != nil || failure == nil || !strings.HasPrefix(failure.Error(), want) {
					t.Errorf("%s: got %v, %v, want %s", query, failure, err, want)
				}
			}
			if out, failure, err := h.turner.Query(t.Context(), h.snapshot(), "silent", nil); len(out) > 0 || failure != nil || err != nil {
				t.Errorf("silent: got %s, %v, %v, want an empty answer", out, failure, err)
			}
			if after := h.digest(); after != before {
				t.Error("queries have changed what the store has of the run")
			}
			if n := h.turner.Counts(); len(n.Fallbacks) > 0 || n.Queries != 15 || n.Asking <= 0 {
				t.Errorf("got %+v, want 15 queries", n)
			}
			h.store.arrive(journal.Arrival{ID: "signal:last", Kind: journal.ArrivalSignal, Op: journal.NoOp, Name: "add", Payload: []byte("970")})
			h.check(h.drive(), journal.Completed, "1000")
		})
	}
}

// TestQueryWithoutAWait are runs that cannot be asked.
func TestQueryWithoutAWait(t *testing.T) {
	h := summing(t, 1, 0)
	fresh := h.snapshot()
	fresh.NextSeq = 0
	if _, _, err := h.turner.Query(t.Context(), fresh, "sum", nil); !errors.Is(err, ErrNoWait) {
		t.Errorf("not begun: got %v, want ErrNoWait", err)
	}
	h = newHarness(t, "echo", "1", nil)
	h.turn()
	if _, _, err := h.turner.Query(t.Context(), h.snapshot(), "sum", nil); !errors.Is(err, sandbox.ErrNoQueries) {
		t.Errorf("no query function: got %v, want ErrNoQueries", err)
	}
}

// TestQueryOfADamagedCheckpoint replays.
func TestQueryOfADamagedCheckpoint(t *testing.T) {
	h := summing(t, 3, 1)
	h.store.cp.Packed[len(h.store.cp.Packed)-3] ^= 1
	out, failure, err := h.turner.Query(context.Background(), h.snapshot(), "sum", nil)
	if want := `{"kind":2,"sum":15,"taken":3,"asked":1}`; err != nil || failure != nil || string(out) != want {
		t.Errorf("got %s, %v, %v, want %s", out, failure, err, want)
	}
	if n := h.turner.Counts().Fallbacks["query"]; n != 1 {
		t.Errorf("got %d fallbacks, want 1", n)
	}
}

// TestQueryOfAGoProgram asks at every wait: between goroutines that wait for timers, for effects and for each other, the answer is that of
// the workflow's variables, and the run ends as one that nobody has asked.
func TestQueryOfAGoProgram(t *testing.T) {
	plain := tortured(t, Checkpoints{})
	want := plain.drive()
	plain.check(want, journal.Completed, string(want.Output))
	for name, every := range map[string]int64{"replayed": 0, "from checkpoints": 5} {
		t.Run(name, func(t *testing.T) {
			h := tortured(t, Checkpoints{Every: every})
			direct := 0 // waits in which the program has called wait itself
			ask := func(query, input string) (string, *abi.Failure) {
				t.Helper()
				out, failure, err := h.turner.Query(t.Context(), h.snapshot(), query, []byte(input))
				if errors.Is(err, sandbox.ErrNoQueries) {
					direct++
					return "", nil
				}
				if err != nil {
					t.Fatalf("%s: %v", query, err)
				}
				return string(out), failure
			}
			said, waits := 0, 0
			for h.turn(); h.snapshot().State == journal.Waiting; h.onward() {
				waits++
				before := h.digest()
				out, failure := ask("said", "[]")
				if out == "" && failure == nil {
					continue
				}
				n, err := strconv.Atoi(out)
				if failure != nil || err != nil || n < said {
					t.Fatalf("wait %d: got %q, %v, want %d or more", waits, out, failure, said)
				}
				said = n
				if more, _ := ask("said", `["a","b"]`); more != strconv.Itoa(n+2) {
					t.Errorf("got %s, want %d", more, n+2)
				}
				if again, _ := ask("said", "[]"); again != out {
					t.Errorf("got %s, want %s as before", again, out)
				}
				if waits == 9 {
					if sum, failure := ask("goroutines", "100"); sum != "4950" {
						t.Errorf("goroutines: got %s, %v", sum, failure)
					}
					for query, want := range map[string]string{"fails": "not_now: ask later", "panics": "panic: no", "effect": "abi_misuse: effect: a query",
						"sleeps": "no_output: the program did not answer", "waits": "no_output: the program did not answer", "spins": "out_of_gas: ",
						"other": "unknown_query: this run answers no query"} {
						if out, failure := ask(query, ""); failure == nil || !strings.HasPrefix(failure.Error(), want) {
							t.Errorf("%s: got %s, %v, want %s", query, out, failure, want)
						}
					}
				}
				if h.digest() != before {
					t.Fatal("queries have changed what the store has of the run")
				}
			}
			h.check(h.snapshot(), journal.Completed, string(want.Output))
			if said == 0 || waits < 20 || direct == 0 || direct > waits/4 {
				t.Errorf("got %d lines in %d waits, %d of them without an answer", said, waits, direct)
			}
			if diff := cmp.Diff(plain.store.entries, h.store.entries); diff != "" {
				t.Errorf("entries (-not asked +asked):\n%s", diff)
			}
		})
	}
}
