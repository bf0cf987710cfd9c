package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAnInterruptedWaitLeavesTheRunGoing interrupts a wait once the host has been asked for the result.
func TestAnInterruptedWaitLeavesTheRunGoing(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"id":"run_7"}`)
			return
		}
		interrupt()
		<-r.Context().Done()
	}))
	defer s.Close()
	var stdout, stderr bytes.Buffer
	p := &program{stdout: &stdout, stderr: &stderr}
	app := p.app()
	err := app.RunContext(ctx, []string{"reprise", "run", "start", "--wait", "--addr", s.URL, "--", "w"})
	if got := p.finish(ctx, app, err); got != exitInterrupted {
		t.Errorf("got exit code %d, want %d", got, exitInterrupted)
	}
	if !strings.Contains(stderr.String(), "the run goes on; see reprise run result run_7 --wait") || stdout.Len() > 0 {
		t.Errorf("got stdout %q and stderr %q, want a hint on stderr alone", &stdout, &stderr)
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("got %d requests, want a start and a result and nothing that ends the run", got)
	}
}

// TestHostileAnswersDoNotReachTheTerminal shows what a host says of names that others chose.
func TestHostileAnswersDoNotReachTheTerminal(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		evil := `"\u001b]0;x\u0007\u202e"`
		switch {
		case strings.HasSuffix(r.URL.Path, "/journal") && r.URL.Query().Get("from") != "0":
			io.WriteString(w, `{"entries":[],"next":1}`)
		case strings.HasSuffix(r.URL.Path, "/journal"):
			io.WriteString(w, `{"entries":[{"seq":0,"kind":`+evil+`,"name":`+evil+`,"status":`+evil+`,"at":`+evil+`,"payload_base64":"GxtdMDt4Bw=="}],"next":1}`)
		case r.URL.Path == "/v1/runs":
			io.WriteString(w, `{"runs":[{"id":`+evil+`,"state":`+evil+`,"workflow":`+evil+`,"key":`+evil+`,"created_at":`+evil+`}],"cursor":`+evil+`}`)
		case r.URL.Path == "/v1/modules":
			io.WriteString(w, `{"modules":[{"digest":`+evil+`,"shape":`+evil+`,"names":[{"name":`+evil+`}]}]}`)
		case r.URL.Path == "/v1/nodes":
			io.WriteString(w, `{"nodes":[{"id":`+evil+`}]}`)
		case strings.HasSuffix(r.URL.Path, "/replay"):
			io.WriteString(w, `{"ok":false,"mismatch":`+evil+`}`)
		case strings.HasPrefix(r.URL.Path, "/v1/modules/"):
			io.WriteString(w, `{"digest":`+evil+`,"sdk":`+evil+`,"workflows":[`+evil+`],"imports":[`+evil+`],"history":[{"digest":`+evil+`}]}`)
		case strings.HasSuffix(r.URL.Path, "/result"):
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"code":`+evil+`,"detail":`+evil+`,"where":`+evil+`,"fix":`+evil+`,"run_id":`+evil+`}`)
		default:
			io.WriteString(w, `{"id":`+evil+`,"state":`+evil+`,"reason":`+evil+`,"published":[{"key":`+evil+`,"value":`+evil+`}],"failure_base64":"Gxtd"}`)
		}
	}))
	defer s.Close()
	for _, args := range []string{
		"run list", "run list -q", "run show x", "run journal x", "run result x", "run start x", "run cancel x", "run resume x",
		"run replay x", "run signal x y", "module list", "module list -q", "module show x", "node list",
	} {
		var stdout, stderr bytes.Buffer
		code := run(append([]string{"reprise"}, strings.Fields(args+" --addr "+s.URL)...), strings.NewReader(""), &stdout, &stderr)
		if out := stdout.String() + stderr.String(); strings.ContainsAny(out, "\x1b\x07\u202e") || out == "" {
			t.Errorf("%s (exit code %d) wrote %q", args, code, out)
		}
	}
}
