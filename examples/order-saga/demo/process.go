package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a program that the demo started and will end.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts a program; its standard error goes to a file of the demo's folder.
func (d *demo) start(log, program string, args ...string) (*process, io.Reader, error) {
	f, err := os.OpenFile(filepath.Join(d.dir, log), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	cmd := exec.Command(program, args...)
	cmd.Stderr = f
	out, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		out.Close()
		return nil, nil, fmt.Errorf("start %s: %w", program, err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		cmd.Wait() // how it ended is in its log
		out.Close()
	}()
	return p, out, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process without any warning.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// end asks the process to stop and kills it when it takes too long.
func (p *process) end() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(15 * time.Second):
		p.kill()
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// startShop starts the shop and reads its URL from the first line that it prints.
func (d *demo) startShop(ctx context.Context) (*process, error) {
	p, out, err := d.start("shop.log", d.shop, "--ledger", filepath.Join(d.dir, "ledger.jsonl"), "--charge-delay", d.chargeDelay.String())
	if err != nil {
		return nil, err
	}
	line := make(chan string, 1)
	go func() {
		s, _ := bufio.NewReader(out).ReadString('\n')
		line <- strings.TrimSpace(s)
	}()
	select {
	case d.shopURL = <-line:
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	if !strings.HasPrefix(d.shopURL, "http://") {
		p.end()
		return nil, fmt.Errorf("the shop did not say where it listens; see %s", filepath.Join(d.dir, "shop.log"))
	}
	return p, nil
}

// startHost starts the host and waits until it is ready. The port is the system's choice, so that the
// demo never meets a busy one; the host writes its address to a file.
func (d *demo) startHost(ctx context.Context) (*process, error) {
	addrFile := filepath.Join(d.dir, "host.addr")
	if err := os.Remove(addrFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(d.dir, "modules"), 0o700); err != nil {
		return nil, err
	}
	p, out, err := d.start(hostLog, d.reprise, "dev", "--db", filepath.Join(d.dir, "reprise.db"),
		"--http", "127.0.0.1:0", "--addr-file", addrFile, "--watch", filepath.Join(d.dir, "modules"),
		"--cache-dir", filepath.Join(d.dir, "cache"), "--node", "demo", "--allow-host", strings.TrimPrefix(d.shopURL, "http://"))
	if err != nil {
		return nil, err
	}
	go io.Copy(io.Discard, out)
	err = until(ctx, 60*time.Second, "the host to be ready", func(ctx context.Context) error {
		if p.ended() {
			return fatal{errors.New("the host ended; its log says why")}
		}
		addr, err := os.ReadFile(addrFile)
		if err != nil {
			return err
		}
		d.hostURL = "http://" + strings.TrimPrefix(strings.TrimSpace(string(addr)), "http://")
		return get(ctx, d.hostURL+"/readyz", nil)
	})
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// cli runs one command of the host's program against the host and returns its standard output.
func (d *demo) cli(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.reprise, append(args, "--addr", d.hostURL)...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return out, fmt.Errorf("reprise %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
		}
		return out, fmt.Errorf("reprise %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// ask reads JSON from the shop.
func (d *demo) ask(ctx context.Context, path string, into any) error {
	return get(ctx, d.shopURL+path, into)
}

func get(ctx context.Context, url string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	return nil
}

// fatal is an error for which asking again is of no use.
type fatal struct{ error }

// until asks again and again until ready says yes, for at most limit.
func until(ctx context.Context, limit time.Duration, what string, ready func(context.Context) error) error {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if _, ok := err.(fatal); ok {
			return fmt.Errorf("waited for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			if whole.Err() != nil {
				return fmt.Errorf("stopped while waiting for %s: %w", what, context.Cause(whole))
			}
			return fmt.Errorf("waited %v for %s: %w", limit, what, err)
		case <-tick.C:
		}
	}
}
