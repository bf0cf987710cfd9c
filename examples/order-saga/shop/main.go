// Command shop is the outside world of the order-saga example: an HTTP service that reserves, charges,
// ships, refunds and releases, and books each Idempotency-Key once, in a ledger file that survives
// its own crashes. The demo and the tests start it; it listens on loopback only and prints its base
// URL as the first line of its standard output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() { os.Exit(doMain(os.Args[1:], os.Stdout, os.Stderr)) }

func doMain(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:0", "loopback address to listen on")
	path := flags.String("ledger", "ledger.jsonl", "ledger file, one JSON object a line")
	var rules rules
	flags.DurationVar(&rules.chargeDelay, "charge-delay", 0, "how long a charge takes to answer")
	flags.BoolVar(&rules.bookLate, "book-late", false, "book a charge after its delay instead of before")
	flags.StringVar(&rules.refuse, "refuse", "", "step to refuse: charge (402) or another step (422)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := serve(*listen, *path, rules, stdout); err != nil {
		fmt.Fprintln(stderr, "shop:", err)
		return 1
	}
	return 0
}

func serve(listen, path string, rules rules, stdout io.Writer) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		l.Close()
		return fmt.Errorf("%s is not a loopback address", listen)
	}
	book, err := openLedger(path)
	if err != nil {
		l.Close()
		return err
	}
	defer book.close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	srv := &http.Server{Handler: newServer(book, rules), ReadHeaderTimeout: 5 * time.Second}
	fmt.Fprintf(stdout, "http://%s\n", l.Addr())
	context.AfterFunc(ctx, func() { srv.Close() })
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
