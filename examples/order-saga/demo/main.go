// Command demo shows what the host promises, with the order saga: it kills the host with SIGKILL
// after the shop has taken the money and before the host knows, starts it again, and proves by the
// shop's own ledger that every step of the order happened exactly once. It drives the real programs
// through their command lines, waits for events and never for a fixed time, and ends every process
// that it has started. `make run` calls it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() { os.Exit(doMain(os.Args[1:], os.Stdout, os.Stderr)) }

// limit bounds the whole demo; a first build and compilation of the workflow takes most of it.
const limit = 4 * time.Minute

func doMain(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	d := demo{out: stdout}
	flags.StringVar(&d.reprise, "reprise", "bin/reprise", "the host's program")
	flags.StringVar(&d.shop, "shop", "bin/shop", "the shop's program")
	flags.StringVar(&d.source, "workflow", "examples/order-saga/workflow", "folder with the workflow's source")
	flags.StringVar(&d.goTool, "go", "go", "the Go tool that builds the workflow")
	flags.DurationVar(&d.chargeDelay, "charge-delay", 3*time.Second, "how long the shop takes to answer a charge; the host is killed meanwhile")
	dir := flags.String("dir", "", "empty folder for the files; default a temporary one, removed at the end")
	keep := flags.Bool("keep", false, "keep the temporary folder")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d.dir = *dir
	if d.dir == "" {
		temp, err := os.MkdirTemp("", "reprise-demo-")
		if err != nil {
			fmt.Fprintln(stderr, "demo:", err)
			return 1
		}
		if !*keep {
			defer os.RemoveAll(temp)
		}
		d.dir = temp
	}
	if err := d.run(ctx); err != nil {
		fmt.Fprintf(stderr, "\ndemo: %v\n%s", err, d.lastLog())
		return 1
	}
	return 0
}

// lastLog is the end of the host's log, for a demo that failed.
func (d *demo) lastLog() string {
	const tail = 3000 // bytes, about the last forty lines
	b, err := os.ReadFile(filepath.Join(d.dir, hostLog))
	if err != nil || len(b) == 0 {
		return ""
	}
	return fmt.Sprintf("\nthe end of the host's log:\n%s", b[max(0, len(b)-tail):])
}
