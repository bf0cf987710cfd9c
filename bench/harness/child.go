package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// Child is a system's program that was started.
type Child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Scanner
	stderr tail
	waited chan struct{} // closed when the program has ended
	err    error         // of waiting, to be read when waited is closed
}

// Start starts a system's program and returns when the system is ready. The program and all that it starts are ended with
// ctx. Its stderr goes to log too, unless that is nil.
func Start(ctx context.Context, log io.Writer, program string, args ...string) (*Child, Hello, error) {
	c := &Child{cmd: exec.Command(program, args...), waited: make(chan struct{})}
	c.stderr.to = log
	c.cmd.Stderr = &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what it starts can be ended with it
	c.cmd.WaitDelay = time.Second
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, Hello{}, fmt.Errorf("start %s: %w", program, err)
	}
	read, write := io.Pipe() // not StdoutPipe, which Wait closes while the last line is read
	c.in, c.lines, c.cmd.Stdout = in, bufio.NewScanner(read), write
	if err := c.cmd.Start(); err != nil {
		return nil, Hello{}, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		c.err = c.cmd.Wait()
		_ = write.Close()
		close(c.waited)
	}()
	context.AfterFunc(ctx, c.kill)
	starting, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready within %s", startLimit))
	defer cancel()
	late := context.AfterFunc(starting, c.kill)
	var hello Hello
	err = c.read(&hello)
	if late(); err != nil {
		c.Close()
		return nil, hello, errors.Join(context.Cause(starting), err)
	}
	if hello.Error != "" {
		c.Close()
		return nil, hello, errors.New(hello.Error)
	}
	return c, hello, nil
}

// PID is the program's process.
func (c *Child) PID() int { return c.cmd.Process.Pid }

const startLimit = time.Minute

// slack is how much longer than a cell a program may take.
const slack = 30 * time.Second

// perWorkflow is how much longer for each workflow of a cell that is not bounded by time.
const perWorkflow = 200 * time.Millisecond

// Measure has the program measure a cell.
func (c *Child) Measure(ctx context.Context, cell Cell) (Result, error) {
	limit := slack + mostWarm + time.Duration((cell.Warm+cell.Seconds)*float64(time.Second)) + time.Duration(cell.Workflows)*perWorkflow
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	stop := context.AfterFunc(ctx, c.kill)
	defer stop()
	line, err := json.Marshal(cell)
	if err != nil {
		return Result{}, fmt.Errorf("cell: %w", err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return Result{}, fmt.Errorf("ask: %w", err)
	}
	var reply Reply
	if err := c.read(&reply); err != nil {
		return Result{}, errors.Join(context.Cause(ctx), err)
	}
	if reply.Error != "" {
		return Result{}, errors.New(reply.Error)
	}
	return reply.Result, nil
}

func (c *Child) read(to any) error {
	if !c.lines.Scan() {
		<-c.waited
		return fmt.Errorf("the program ended: %w: %s", errors.Join(c.err, c.lines.Err()), c.stderr.last)
	}
	if err := json.Unmarshal(c.lines.Bytes(), to); err != nil {
		return fmt.Errorf("the program says %q: %w", c.lines.Text(), err)
	}
	return nil
}

// grace is how long a program may take to stop.
const grace = 10 * time.Second

// Close ends the program: it is asked to stop, and killed when it does not.
func (c *Child) Close() {
	_ = c.in.Close()
	go func() { // what it still prints would hold it up
		for c.lines.Scan() {
		}
	}()
	select {
	case <-c.waited:
	case <-time.After(grace):
	}
	c.kill()
	<-c.waited
}

func (c *Child) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

// tail keeps the end of what is written.
type tail struct {
	to   io.Writer
	last []byte
}

const tailBytes = 2000

// Write is part of io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	if n := len(t.last); n > tailBytes {
		t.last = append(t.last[:0], t.last[n-tailBytes:]...)
	}
	if t.to != nil {
		return t.to.Write(p)
	}
	return len(p), nil
}
