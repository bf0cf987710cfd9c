package sandbox

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/modules"
)

// Limits of one compilation in a process of its own. A Go program of 3.5 MB takes 1.5 s and 60 MB.
const (
	// childMemory bounds the process's address space in bytes: 1.3 GiB of it are reserved by Go's runtime
	// before anything is compiled.
	childMemory = 4 << 30
	// childCPU bounds its processor time in seconds, childWall the time that it may take in all.
	childCPU  = 30
	childWall = 60 * time.Second
	// childNice makes it yield to the guests that run meanwhile.
	childNice = 10
	// childInput bounds what it reads, several times the largest module.
	childInput = 64 << 20
	// childWords bounds what is kept of what it says.
	childWords = 4 << 10
)

// ExitInvalid is the status with which a compiling process says that the module does not validate.
const ExitInvalid = 3

// Self, as the first word of Config.Compiler, is this program itself, whatever has become of its file.
const Self = "/proc/self/exe"

// CompileChild is the whole life of a compiling process: it limits itself, compiles the module that it reads
// into the cache's folder and makes its image there, and returns nil, or an error whose *modules.RefusedError says that the module is at fault.
// cpu is the processor time that it may take, in seconds.
func CompileChild(ctx context.Context, code io.Reader, cacheDir, cpu string) error {
	seconds, err := strconv.ParseUint(cpu, 10, 32)
	if err != nil {
		return fmt.Errorf("limit of processor time: %w", err)
	}
	if err := limitProcess(seconds); err != nil {
		return fmt.Errorf("limit the compiling process: %w", err)
	}
	p := &modules.Prepared{}
	if err := gob.NewDecoder(io.LimitReader(code, childInput)).Decode(p); err != nil {
		return fmt.Errorf("read the module: %w", err)
	}
	e, err := New(ctx, Config{CacheDir: cacheDir})
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	_, err = e.Load(ctx, p)
	return err
}

// apart compiles and warms up in a process of its own, so that neither a module that makes the compiler run wild nor
// one that kills it harms this one. What it leaves is a hit of the disk cache, and the image. Without a
// Compiler there is none.
func (e *Engine) apart(ctx context.Context, p *modules.Prepared) (*image, error) {
	if len(e.cfg.Compiler) == 0 {
		return nil, nil
	}
	path := imagePath(e.cfg.CacheDir, p.ImageKey)
	if im, err := readImage(path); err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDamaged) {
		return im, err
	}
	select {
	case e.children <- struct{}{}:
		defer func() { <-e.children }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	bare := *p
	bare.Assets = nil // which no image depends on
	var input bytes.Buffer
	if err := gob.NewEncoder(&input).Encode(&bare); err != nil {
		return nil, fmt.Errorf("encode the module for the compiler: %w", err)
	}
	if err := e.runChild(ctx, &input); err != nil {
		return nil, err
	}
	im, err := readImage(path)
	if err != nil {
		return nil, fmt.Errorf("compile cache: what the compiler left: %w", err)
	}
	return im, nil
}

func (e *Engine) runChild(ctx context.Context, input io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, childWall)
	defer cancel()
	words := &tailWriter{limit: childWords}
	args := append(slices.Clone(e.cfg.Compiler[1:]), e.cfg.CacheDir, strconv.FormatUint(e.cfg.CompileCPU, 10))
	cmd := exec.CommandContext(ctx, e.cfg.Compiler[0], args...)
	if cmd.Path == Self {
		cmd.Args[0] = os.Args[0] // a program may go by its name
	}
	// Nothing of this process's environment is the compiler's business, except what a test's child needs to know itself by.
	cmd.Env = append([]string{"GOMAXPROCS=1", "HOME=/nonexistent"}, e.cfg.CompilerEnv...)
	cmd.Stdin, cmd.Stderr = input, words
	dieWithParent(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() == ExitInvalid:
		return invalid(strings.TrimSpace(words.String()))
	case errors.As(err, &exit) || ctx.Err() == context.DeadlineExceeded:
		return &modules.RefusedError{Code: "compile_limit", What: fmt.Sprintf("compiling it took more than %d s of processor time or too much memory (%s)", e.cfg.CompileCPU, err),
			Where: "code section", Fix: "split its largest functions, or build it with fewer inlined calls"}
	}
	return fmt.Errorf("start the compiler %s: %w", e.cfg.Compiler[0], err)
}

// invalid is the refusal of a module that wazero's validation does not accept.
func invalid(why string) error {
	return &modules.RefusedError{Code: "invalid_module", What: fmt.Sprintf("the module does not validate: %.600q", why), Where: "code section",
		Fix: "rebuild it; SIMD, threads, exceptions, tail calls and multiple memories are not supported"}
}

// tailWriter keeps the end of what is written to it.
type tailWriter struct {
	b     []byte
	limit int
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p[max(0, len(p)-w.limit):]...)
	w.b = w.b[max(0, len(w.b)-w.limit):]
	return len(p), nil
}

func (w *tailWriter) String() string { return string(w.b) }
