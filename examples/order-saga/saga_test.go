// Package ordersaga tests the order saga on a host in this process against the real shop.
package ordersaga

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"reprise/host"
	"reprise/host/effect"
	httpeffect "reprise/host/effect/http"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// patience bounds every wait; it is reached only when something is wrong.
const patience = 60 * time.Second

func build(t *testing.T, dir, out string, env, flags []string) {
	t.Helper()
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), ".")...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off"), env...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", dir, err, b)
	}
}

// startShop starts a shop and returns its URL.
func startShop(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, append(args, "--ledger", filepath.Join(t.TempDir(), "ledger.jsonl"))...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("shop: %v", err)
		}
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the shop did not say where it listens: %v", err)
	}
	return strings.TrimSpace(url)
}

// startHost starts a host that may reach the shop, with the workflow published.
func startHost(t *testing.T, module []byte, cache, allow string) *host.Host {
	t.Helper()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	web, err := httpeffect.New(httpeffect.Config{Allow: []string{strings.TrimPrefix(allow, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Config{Store: store, CacheDir: cache, Poll: 50 * time.Millisecond, Effects: effect.Registry{httpeffect.Name: web}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Stop(ctx); err != nil {
			t.Error(err)
		}
		store.Close()
	})
	if _, err := h.PushModule(ctx, tenant.Default, "order-saga", module, ""); err != nil {
		t.Fatal(err)
	}
	return h
}

// steps are the ledger's lines as "step item", in order.
func steps(t *testing.T, url string) []string {
	t.Helper()
	resp, err := http.Get(url + "/ledger")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var l struct {
		Lines []struct{ Step, Item string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range l.Lines {
		got = append(got, strings.TrimSpace(e.Step+" "+e.Item))
	}
	return got
}

func TestSaga(t *testing.T) {
	dir := t.TempDir()
	wasm, shop := filepath.Join(dir, "order-saga.wasm"), filepath.Join(dir, "shop")
	build(t, "workflow", wasm, []string{"GOOS=wasip1", "GOARCH=wasm"}, []string{"-buildmode=c-shared", "-ldflags=-s -w"})
	build(t, "shop", shop, nil, nil)
	module, err := os.ReadFile(wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		args   []string
		signal string // sent at once; the workflow takes it when it gets there
		cancel bool   // when it waits for the signal
		state  journal.State
		want   []string
	}{
		{"goes through", nil, "ship", false, journal.Completed, []string{"reserve", "charge", "ship book", "ship lamp"}},
		{"card declined", []string{"--refuse", "charge"}, "ship", false, journal.Failed, []string{"reserve", "release"}},
		{"shipping fails", []string{"--refuse", "ship"}, "ship", false, journal.Failed, []string{"reserve", "charge", "refund", "release"}},
		{"nothing reserved", []string{"--refuse", "reserve"}, "ship", false, journal.Failed, []string{}},
		{"cancelled while it waits", nil, "", true, journal.Cancelled, []string{"reserve", "charge", "refund", "release"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url := startShop(t, shop, tc.args...)
			h := startHost(t, module, filepath.Join(dir, "cache"), url)
			input := fmt.Sprintf(`{"id":"o1","shop":%q,"amount_cents":4200,"items":["book","lamp"]}`, url)
			run, _, err := h.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "order-saga", Input: []byte(input)})
			if err != nil {
				t.Fatal(err)
			}
			if tc.signal != "" {
				if _, err := h.Signal(t.Context(), tenant.Default, run.ID, "s1", tc.signal, []byte(`{"carrier":"post"}`)); err != nil {
					t.Fatal(err)
				}
			}
			if tc.cancel {
				untilStage(t, h, run.ID, `"waiting for ship"`)
				if _, err := h.Cancel(t.Context(), tenant.Default, run.ID, "changed my mind"); err != nil {
					t.Fatal(err)
				}
			}
			run, err = h.Result(t.Context(), tenant.Default, run.ID, patience)
			if err != nil || run.State != tc.state {
				t.Errorf("got %s %s, %v, want %s", run.State, run.Failure, err, tc.state)
			}
			got := steps(t, url)
			if tc.state == journal.Completed {
				slices.Sort(got[2:]) // parcels leave at the same time
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
		})
	}
}

// untilStage waits until a run publishes a stage.
func untilStage(t *testing.T, h *host.Host, id journal.RunID, stage string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := h.Run(ctx, tenant.Default, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range v.Published {
			if p.Key == "stage" && string(p.Value) == stage {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the run is %s and published %v, want stage %s", v.Run.State, v.Published, stage)
		}
	}
}
