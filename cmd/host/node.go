package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/lmittmann/tint"

	"reprise/host/api"
)

// How long a node takes to stop at most: its effects have the host's own DrainTimeout, requests and the
// giving back of runs the rest.
const (
	hostStop   = 30 * time.Second
	serverStop = 5 * time.Second
)

// node runs a host until ctx is done or serving fails.
func (p *program) node(ctx context.Context, s settings) (err error) {
	log := s.logger(p.stderr)
	listener, err := api.Listen(s.http, len(s.tokens) == 0)
	if err != nil {
		return listenError(err)
	}
	defer listener.Close()
	parts, err := assemble(ctx, s, listener.Addr(), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parts.close()) }()
	collecting := make(chan struct{})
	collects, collected := context.WithCancel(ctx)
	go func() { defer close(collecting); collectLess(collects) }()
	defer func() { collected(); <-collecting }()

	handler := api.New(api.Config{
		UseCases: parts.host, Tokens: s.tokens, Version: version, Commit: commit(), Logger: log,
	})
	server := api.NewServer(handler, log)
	if err := parts.start(ctx); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }() // ends with Shutdown or Close below
	defer func() {
		_ = server.Close()
		<-failed
	}()
	if err := p.announce(s, listener.Addr(), parts.host.Held()); err != nil {
		return errors.Join(err, parts.stop())
	}
	select {
	case <-ctx.Done():
		log.Info("stopping; a second signal ends the process at once")
	case err = <-failed:
		failed <- nil
		err = fmt.Errorf("serve: %w", err)
	}
	// The API answers while the host gives its runs back, so that a balancer sees readyz say no.
	handler.Drain()
	err = errors.Join(err, parts.stop())
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverStop)
	defer cancel()
	if e := server.Shutdown(stopping); e != nil && !errors.Is(e, http.ErrServerClosed) {
		log.Warn("requests were cut off", "error", e)
	}
	return err
}

func listenError(err error) error {
	switch {
	case errors.Is(err, api.ErrNotLoopback):
		return fmt.Errorf("%w; give --api-token-file, or --http 127.0.0.1:7070", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; name another port with --http 127.0.0.1:PORT, or 0 for a free one", err)
	}
	return err
}

func (s settings) logger(w io.Writer) *slog.Logger {
	if isTerminal(w) {
		return slog.New(tint.NewHandler(w, &tint.Options{Level: s.logLevel, TimeFormat: time.TimeOnly, NoColor: os.Getenv("NO_COLOR") != ""}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: s.logLevel}))
}

// announce says on stderr that the node is ready, where, and how many runs it holds of a restored journal. Each line is a word and its value.
func (p *program) announce(s settings, addr net.Addr, held int) error {
	title := "node " + s.host.Name
	if s.mode == "dev" {
		title = "dev server, not for production"
	}
	base := "http://" + addr.String()
	token := "none needed"
	if len(s.tokens) > 0 {
		token = s.tokenHint
	}
	fmt.Fprintf(p.stderr, "reprise %s   %s\n", version, title)
	fmt.Fprintf(p.stderr, "  API        %s/v1      token %s\n", base, clean(token))
	fmt.Fprintf(p.stderr, "  Journal    %s\n", clean(journalText(s.journal)))
	if s.host.Restored {
		fmt.Fprintf(p.stderr, "  Restored   %d open runs paused; reprise run resume lets them go on\n", held)
	}
	if s.watch != "" {
		fmt.Fprintf(p.stderr, "  Watching   %s\n", clean(s.watch))
	}
	if trust := trustText(s.host.Trust); trust != "" {
		fmt.Fprintf(p.stderr, "  Modules    %s\n", trust)
	}
	prefix := ""
	if base != "http://127.0.0.1:7070" {
		prefix = "REPRISE_ADDR=" + base + " "
	}
	fmt.Fprintf(p.stderr, "  Try        %sreprise run start hello -i '{\"name\":\"Ann\"}' --wait\n", prefix)
	fmt.Fprintf(p.stderr, "  http_addr  %s\n", addr)
	if s.addrFile == "" {
		return nil
	}
	// In one step, so that who waits for the file never reads a part.
	if err := replaceFile(s.addrFile, addr.String()+"\n", 0o600); err != nil {
		return fmt.Errorf("address file: %w", err)
	}
	return nil
}
