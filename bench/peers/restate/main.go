// Command restate is a Restate server, which this program starts, and a service in Go, for the benchmark. A workflow is one
// request that starts it and waits for its result: the server's usual way.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	sdk "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/ingress"
	"github.com/restatedev/sdk-go/server"

	"reprise/bench/harness"
)

func main() { harness.Main(os.Args[1:], open) }

// service is the name that the workflow has at the server.
const service = "bench"

type system struct {
	node   *node
	client *ingress.Client
	cancel context.CancelFunc
	served chan error
	number atomic.Int64
}

func open(ctx context.Context, o harness.Options) (harness.System, harness.Hello, error) {
	hello := harness.Hello{System: "Restate", Version: "server 1.7.12, sdk-go v1.2.0", Settings: "defaults; its own store"}
	node, err := startNode(ctx, o)
	if err != nil {
		return nil, hello, err
	}
	ctx, cancel := context.WithCancel(ctx)
	// The client's own default is two idle connections.
	transport := &http.Transport{MaxIdleConns: o.InFlight, MaxIdleConnsPerHost: o.InFlight}
	s := &system{node: node, cancel: cancel, served: make(chan error, 1), client: ingress.NewClient(node.ingress, ingress.WithHttpClient(&http.Client{Transport: transport}))}
	if err := s.serve(ctx); err != nil {
		return nil, hello, errors.Join(err, s.Close())
	}
	return s, hello, nil
}

// serve starts the service and tells the server of it.
func (s *system) serve(ctx context.Context) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	endpoint := server.NewRestate().WithLogger(slog.DiscardHandler, true).
		Bind(sdk.NewWorkflow(service).Handler("Run", sdk.NewWorkflowHandler(steps)))
	go func() { s.served <- endpoint.Start(ctx, address) }()
	body, err := json.Marshal(map[string]any{"uri": "http://" + address, "force": true})
	if err != nil {
		return err
	}
	return until(ctx, func() error { // also until the service listens
		response, err := http.Post(s.node.admin+"/deployments", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode/100 != 2 {
			text, _ := io.ReadAll(response.Body)
			return fmt.Errorf("register: %s %s", response.Status, text)
		}
		return nil
	})
}

func step(sdk.RunContext) (string, error) { return string(harness.Payload), nil }

func steps(ctx sdk.WorkflowContext, w harness.Work) (string, error) {
	if !w.Parallel {
		for range w.Steps {
			if _, err := sdk.Run(ctx, step); err != nil {
				return "", err
			}
		}
		return string(harness.Payload), nil
	}
	begun := make([]sdk.Future, w.Steps)
	for i := range begun {
		begun[i] = sdk.RunAsync(ctx, step)
	}
	for _, err := range sdk.Wait(ctx, begun...) {
		if err != nil {
			return "", err
		}
	}
	return string(harness.Payload), nil
}

// Run is part of harness.System.
func (s *system) Run(ctx context.Context, w harness.Work) error {
	id := "w" + strconv.FormatInt(s.number.Add(1), 10)
	_, err := ingress.Workflow[harness.Work, string](s.client, service, id, "Run").Request(ctx, w)
	return err
}

// Close is part of harness.System.
func (s *system) Close() error {
	s.cancel()
	return s.node.stop()
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// until tries until it works.
func until(ctx context.Context, try func() error) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		err := try()
		if err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
