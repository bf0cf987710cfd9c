package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"reprise/bench/harness"
)

// node is a server of one node, with its store in a folder, on loopback.
type node struct {
	cmd            *exec.Cmd
	ended          chan error
	ingress, admin string // URLs
}

func startNode(ctx context.Context, o harness.Options) (*node, error) {
	var ports [3]string
	for i := range ports {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		if _, ports[i], err = net.SplitHostPort(address); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(o.Dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	n := &node{ended: make(chan error, 1), ingress: "http://127.0.0.1:" + ports[0], admin: "http://127.0.0.1:" + ports[1]}
	n.cmd = exec.CommandContext(ctx, o.Server, "--node-name", "bench", "--base-dir", filepath.Join(o.Dir, "data"))
	n.cmd.Stdout, n.cmd.Stderr = log, log
	n.cmd.Env = append(os.Environ(), "RESTATE_LISTEN_MODE=tcp", "RESTATE_BIND_IP=127.0.0.1", "RESTATE_ADVERTISED_HOST=127.0.0.1",
		"RESTATE_INGRESS__BIND_PORT="+ports[0], "RESTATE_ADMIN__BIND_PORT="+ports[1], "RESTATE_BIND_PORT="+ports[2],
		"RESTATE_LOG_FILTER=warn", "RESTATE_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=1")
	if err := n.cmd.Start(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	go func() { n.ended <- n.cmd.Wait() }()
	for _, url := range []string{n.admin + "/health", n.ingress + "/restate/health"} {
		if err := until(ctx, func() error { return n.healthy(url) }); err != nil {
			text, _ := os.ReadFile(log.Name())
			return nil, fmt.Errorf("server: %w (%v): %s", err, n.stop(), text[max(0, len(text)-500):])
		}
	}
	return n, nil
}

func (n *node) healthy(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

func (n *node) stop() error {
	_ = n.cmd.Process.Signal(os.Interrupt)
	select {
	case <-n.ended:
		return nil
	case <-time.After(3 * time.Second): // it waits for what is under way
		err := n.cmd.Process.Kill()
		<-n.ended
		return err
	}
}
