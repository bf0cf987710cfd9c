package usage

import (
	"os/exec"
	"testing"
)

func TestParse(t *testing.T) {
	line := "42 (a) b (c) S 7 42 42 0 -1 4194304 100 0 0 0 150 50 30 20 20 0 1 0 100 1000000 25 18446744073709551615"
	pid, p, err := parse(line)
	want := process{parent: 7, cpu: 2.5}
	if err != nil || pid != 42 || p != want {
		t.Errorf("got %d, %+v, %v; want 42, %+v", pid, p, err, want)
	}
	for _, bad := range []string{"", "42 no name", "x (a) S 1", "42 (a) S 7"} {
		if _, _, err := parse(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

// A shell that has burnt time and waited for a child that burnt time, and has another one.
func TestCPU(t *testing.T) {
	c := exec.Command("sh", "-c", `sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; cat & echo ready; wait`)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = c.Wait()
	}()
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if got := CPU(c.Process.Pid); got <= 0 {
		t.Errorf("got %v s, want some", got)
	}
	if got := CPU(0x7fffffff); got != 0 {
		t.Errorf("of nobody: got %v s, want none", got)
	}
}
