package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"reprise": main})
}

// TestScripts runs testdata/script against the program itself. Besides testscript's own commands there
// are:
//
//	await FILE           wait for a node's address file and point REPRISE_ADDR at the node
//	poll NAME            wait until the node has a workflow of that name
//	code N PROGRAM ARG.. run a program that must exit with N
//	terminate            send SIGTERM to what runs in the background
//	bytes FILE HEX       write bytes
//	fill FILE N          write N times the letter x
//	[raced] COMMAND      only with the race detector
//	capture VAR          set a variable to the first line of stdout
func TestScripts(t *testing.T) {
	fixtures, err := filepath.Abs("../../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("reprise") // testscript has put it there
	if err != nil {
		t.Fatal(err)
	}
	guests, err := filepath.Abs("../../.cache/guests") // where make guests puts compilers
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	engine := filepath.Join(t.TempDir(), engineName)
	if b, err := exec.Command("../../scripts/engine", engine).CombinedOutput(); err != nil {
		t.Fatalf("make the JavaScript engine: %v\n%s", err, b)
	}
	b, err := exec.Command("go", "env", "GOCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	goDirs := strings.Split(string(b), "\n")
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("WASM", fixtures)
			e.Setenv("REPRISE", program)
			e.Setenv("ENGINE", engine)
			e.Setenv("GUESTS", guests)
			e.Setenv("EXAMPLES", examples)
			e.Setenv("TSC", filepath.Join(filepath.Dir(guests), "engine/current/node_modules/typescript/bin/tsc"))
			e.Setenv("GOCACHE", goDirs[0])
			e.Setenv("GOPATH", goDirs[1])
			e.Setenv("NO_COLOR", "1")
			e.Setenv("ZERO", "run_"+strings.Repeat("0", 32))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "raced" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return raced, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode, "bytes": scriptBytes, "fill": scriptFill, "capture": scriptCapture, "await": scriptAwait, "poll": scriptPoll, "terminate": scriptTerminate,
		},
	})
}

func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("got exit code %d, want %s", code, args[0])
	}
}

func scriptBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes FILE HEX")
	}
	var b []byte
	for i := 0; i+2 <= len(args[1]); i += 2 {
		v, err := strconv.ParseUint(args[1][i:i+2], 16, 8)
		ts.Check(err)
		b = append(b, byte(v))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

func scriptFill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("x", n)), 0o600))
}

func scriptCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture VAR")
	}
	line, _, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	if line == "" {
		ts.Fatalf("stdout is empty")
	}
	ts.Setenv(args[0], line)
}

// scriptAwait waits for the address file of a node and points REPRISE_ADDR at what is in it.
func scriptAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		addr, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil {
			ts.Setenv("REPRISE_ADDR", strings.TrimSpace(string(addr)))
			return
		}
	}
	ts.Fatalf("%s did not come", args[0])
}

func scriptPoll(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: poll NAME")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("http://" + ts.Getenv("REPRISE_ADDR") + "/v1/modules/" + args[0])
		ts.Check(err)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
	ts.Fatalf("the workflow %s did not come", args[0])
}

// scriptTerminate sends SIGTERM to what runs in the background.
func scriptTerminate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: terminate")
	}
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}
