package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What TestMain builds: the program, the same with the race detector when the tests have it, and guests by name.
var (
	reprise  string
	watched  string
	guests   = map[string][]byte{}
	cacheDir string
)

// guestNames are the programs of guest-sdk/go/testguests that these tests run.
var guestNames = []string{"matrix", "sleeper", "plain"}

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

// crashers is how many scenarios are under way at once: they mostly wait for timers, the shop and fsync.
const crashers = "6"

func testMain(m *testing.M) int {
	flag.Parse()
	if err := flag.Set("test.parallel", crashers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "reprise-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := buildAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func buildAll(dir string) error {
	reprise, cacheDir = filepath.Join(dir, "reprise"), filepath.Join(dir, "cache")
	if err := run("../..", []string{"CGO_ENABLED=0"}, "build", "-o", reprise, "./cmd/host"); err != nil {
		return err
	}
	watched = reprise
	if raceDetector {
		watched += "-race"
		if err := run("../..", nil, "build", "-race", "-o", watched, "./cmd/host"); err != nil {
			return err
		}
	}
	for _, name := range guestNames {
		out := filepath.Join(dir, name+".wasm")
		args := []string{"build", "-ldflags=-s -w", "-o", out}
		if name != "plain" { // a plain program is a command; the others are reactors
			args = append(args, "-buildmode=c-shared")
		}
		if err := run("../../guest-sdk/go", []string{"GOOS=wasip1", "GOARCH=wasm"}, append(args, "./testguests/"+name)...); err != nil {
			return err
		}
		b, err := os.ReadFile(out)
		if err != nil {
			return err
		}
		guests[name] = b
	}
	return nil
}

func run(dir string, env []string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
