package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// demo is one showing.
type demo struct {
	out                           io.Writer
	reprise, shop, source, goTool string
	dir                           string
	chargeDelay                   time.Duration

	shopURL, hostURL string
}

// hostLog is the host's standard error, in the demo's folder.
const hostLog = "host.log"

// theOrder is what is ordered: three parcels.
type theOrder struct {
	ID     string   `json:"id"`
	Shop   string   `json:"shop"`
	Amount int64    `json:"amount_cents"`
	Items  []string `json:"items"`
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// run tells the story. It returns nil only when every step happened exactly once.
func (d *demo) run(ctx context.Context) error {
	d.say("1. Build the workflow from Go source to one Wasm module.")
	module, err := d.build(ctx)
	if err != nil {
		return err
	}
	d.say("2. Start the shop: it answers a charge after %v, but books it at once.", d.chargeDelay)
	shop, err := d.startShop(ctx)
	if err != nil {
		return err
	}
	defer shop.end()
	d.say("3. Start the host with a SQLite journal, and drop the module into its watched folder.")
	host, err := d.startHost(ctx)
	if err != nil {
		return err
	}
	defer func() { host.end() }()
	if err := d.publish(ctx, module); err != nil {
		return err
	}
	order := theOrder{ID: "order-1", Shop: d.shopURL, Amount: 4200, Items: []string{"book", "lamp", "chair"}}
	run, err := d.startRun(ctx, order)
	if err != nil {
		return err
	}
	d.say("4. Started %s: reserve, charge, wait for the signal ship, three parcels.", run)
	if err := d.untilCharging(ctx); err != nil {
		return err
	}
	d.say("5. The shop has booked the charge and has not answered. Kill the host now: SIGKILL %d.", host.pid())
	host.kill()
	d.say("6. Start the host again. It finds the run in its journal and goes on.")
	if host, err = d.startHost(ctx); err != nil {
		return err
	}
	return d.finish(ctx, run, order)
}

// finish sends the signal, waits for the result and compares it with the shop's ledger.
func (d *demo) finish(ctx context.Context, run string, order theOrder) error {
	d.say("7. Send the signal ship and wait for the result.")
	if _, err := d.cli(ctx, "run", "signal", run, "ship", "-i", `{"carrier":"post"}`); err != nil {
		return err
	}
	result, err := d.cli(ctx, "run", "result", run, "--wait", "--timeout", "60s")
	if err != nil {
		return err
	}
	d.say("\n%s\n\nThe run's journal:\n", strings.TrimSpace(string(result)))
	table, err := d.cli(ctx, "run", "journal", run)
	if err != nil {
		return err
	}
	d.say("%s", strings.TrimRight(string(table), "\n"))
	var l ledger
	if err := d.ask(ctx, "/ledger", &l); err != nil {
		return err
	}
	d.say("\nThe shop's ledger:\n")
	for _, e := range l.Lines {
		d.say("  %-10s %-8s %-8s %s", e.ID, e.Step, e.Item, e.Key)
	}
	if err := l.check(order); err != nil {
		return fmt.Errorf("the promise is broken: %w", err)
	}
	if err := checkReceipt(result, order, l); err != nil {
		return err
	}
	d.say("\nThe charge was requested %d times and booked once. Every other step was booked exactly once.", l.Requests["charge"])
	return nil
}

// build compiles the workflow and returns the module's path.
func (d *demo) build(ctx context.Context) (string, error) {
	out, err := filepath.Abs(filepath.Join(d.dir, "order-saga.wasm"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, d.goTool, "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = d.source
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off")
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the workflow: %w\n%s", err, b)
	}
	return out, nil
}

// publish puts the module into the watched folder in one step and waits until the host has it.
func (d *demo) publish(ctx context.Context, module string) error {
	if err := os.Rename(module, filepath.Join(d.dir, "modules", "order-saga.wasm")); err != nil {
		return fmt.Errorf("publish the module: %w", err)
	}
	return until(ctx, 90*time.Second, "the host to load the module from its watched folder", func(ctx context.Context) error {
		_, err := d.cli(ctx, "module", "show", "order-saga")
		return err
	})
}

func (d *demo) startRun(ctx context.Context, order theOrder) (string, error) {
	input, err := json.Marshal(order)
	if err != nil {
		return "", err
	}
	out, err := d.cli(ctx, "run", "start", "order-saga", "-i", string(input), "-o", "json")
	if err != nil {
		return "", err
	}
	var run struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(out, &run); err != nil || run.ID == "" {
		return "", fmt.Errorf("run start printed %q, which has no run id", out)
	}
	return run.ID, nil
}

// untilCharging waits until the shop has booked a charge that it has not answered.
func (d *demo) untilCharging(ctx context.Context) error {
	return until(ctx, 30*time.Second, "a charge in flight", func(ctx context.Context) error {
		var inFlight map[string]int
		var l ledger
		if err := d.ask(ctx, "/inflight", &inFlight); err != nil {
			return err
		}
		if err := d.ask(ctx, "/ledger", &l); err != nil {
			return err
		}
		if inFlight["charge"] == 0 || l.count("charge") == 0 {
			return fmt.Errorf("the shop has %d charges in flight and %d booked", inFlight["charge"], l.count("charge"))
		}
		return nil
	})
}
