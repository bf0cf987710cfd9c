package attack

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"reprise/host"
)

// compileCommand makes the test binary the compiler of the hosts under attack.
const compileCommand = "compile-module"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == compileCommand {
		os.Exit(host.CompileModule(context.Background(), os.Stdin, os.Args[2:], os.Stderr))
	}
	if name := os.Getenv(attackEnv); name != "" {
		os.Exit(underAttack(name))
	}
	goleak.VerifyTestMain(m)
}
