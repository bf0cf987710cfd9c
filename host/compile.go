package host

import (
	"context"
	"errors"
	"fmt"
	"io"

	"reprise/host/internal/sandbox"
	"reprise/modules"
)

// SelfCompiler, as the first word of Config.Compiler, is this program itself, also when its file has been
// replaced since it started.
const SelfCompiler = sandbox.Self

// CompileModule is the whole life of a process that Config.Compiler starts. It limits its own memory and
// processor time, compiles the code that it reads into the cache's folder, writes to words what is wrong, and
// returns the status to exit with. args are the last two arguments that Config.Compiler was given.
func CompileModule(ctx context.Context, code io.Reader, args []string, words io.Writer) (status int) {
	if len(args) != 2 {
		fmt.Fprintln(words, "usage: FOLDER SECONDS, and the code on standard input")
		return 1
	}
	err := sandbox.CompileChild(ctx, code, args[0], args[1])
	var refused *modules.RefusedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refused):
		fmt.Fprintln(words, refused.What)
		return sandbox.ExitInvalid
	}
	fmt.Fprintln(words, err)
	return 1
}
