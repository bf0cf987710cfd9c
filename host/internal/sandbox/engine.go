package sandbox

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"golang.org/x/sync/singleflight"

	"reprise/modules"
	"reprise/modules/rewrite"
)

// features are what modules may use: all that wazero has of WebAssembly 2.0 but SIMD, whose NaN bits
// differ between processors.
const features = api.CoreFeaturesV2 &^ api.CoreFeatureSIMD

// Config says how an engine is made.
type Config struct {
	// CacheDir keeps compiled code between processes. Whoever can write it controls the host, so it is
	// made with mode 0700. Default: memory only.
	CacheDir string
	// MaxModules bounds the compiled modules that are kept. Default 128.
	MaxModules int
	// Compiler is a command that calls CompileChild with its last two arguments, the cache's folder and the
	// seconds of processor time, and its standard input, the code. Default: compile in this process.
	Compiler []string
	// CompileCPU bounds the compiler's processor time in seconds. Default childCPU.
	CompileCPU uint64
	// CompilerEnv is added to the compiler's environment, which is otherwise empty. For tests.
	CompilerEnv []string
	// Memory is how many bytes all guests may take together. Default: half of what the machine has.
	Memory int64
	// Copies gives each instance a copy of its module's image, as where the system cannot share pages.
	Copies bool
	// Interpret runs guests by interpreter: slow, and stoppable by context at any point.
	Interpret bool
	// Interpreted are modules that are run by interpreter although the others are compiled.
	Interpreted []modules.Digest
}

// Engine compiles modules and keeps the compiled ones, least recently used first out.
type Engine struct {
	cfg      Config
	rt       wazero.Runtime
	slow     interpreter
	cache    wazero.CompilationCache
	ownDir   string        // the cache's folder when the engine made it for itself
	children chan struct{} // slots of compiling processes, one a processor
	places   *places       // where guests compute, one a processor
	// Memory is shared out apart, so that a run that waits for an activity does not stand in its way.
	forRuns, forActivities *budget

	folder *folder // of the memories of guests that wait

	closed atomic.Bool
	flight singleflight.Group
	mu     sync.Mutex
	mods   map[modules.Digest]*list.Element // of *Module
	recent *list.List                       // front is the newest
}

// New makes an engine. Close releases it.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.MaxModules == 0 {
		cfg.MaxModules = 128
	}
	rc := wazero.NewRuntimeConfigCompiler()
	if cfg.Interpret {
		rc = interpreterConfig()
	}
	if cfg.CompileCPU == 0 {
		cfg.CompileCPU = childCPU
	}
	e := &Engine{mods: map[modules.Digest]*list.Element{}, recent: list.New(), children: make(chan struct{}, runtime.GOMAXPROCS(0)),
		places: newPlaces(runtime.GOMAXPROCS(0))}
	if cfg.Memory == 0 {
		cfg.Memory = machineMemory() / 2
	}
	e.forRuns, e.forActivities = newBudget(max(cfg.Memory/4*3, leastMemory)), newBudget(max(cfg.Memory/4, leastMemory))
	if len(cfg.Compiler) > 0 && cfg.CacheDir == "" { // the two processes meet in a folder
		dir, err := os.MkdirTemp("", "reprise-compiled-")
		if err != nil {
			return nil, fmt.Errorf("compile cache: %w", err)
		}
		cfg.CacheDir, e.ownDir = dir, dir
	}
	e.cfg = cfg
	if cfg.CacheDir != "" && !cfg.Interpret {
		if err := os.MkdirAll(cfg.CacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("compile cache: %w", err)
		}
		if err := os.Chmod(cfg.CacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("compile cache: %w", err)
		}
		cache, err := wazero.NewCompilationCacheWithDir(cfg.CacheDir)
		if err != nil {
			return nil, fmt.Errorf("compile cache: %w", err)
		}
		e.cache = cache
		rc = rc.WithCompilationCache(cache)
	}
	var err error
	if e.rt, err = newRuntime(ctx, rc); err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	e.folder = newFolder(e.forRuns, e.forActivities)
	for _, b := range []*budget{e.forRuns, e.forActivities} {
		b.short = func(tenant string, need int64) { e.folder.evict(b, tenant, need) }
	}
	return e, nil
}

// newRuntime makes a runtime that has everything that guests import.
func newRuntime(ctx context.Context, rc wazero.RuntimeConfig) (wazero.Runtime, error) {
	// Debug information off: with DWARF a panic through a guest costs 3 ms instead of 5 us.
	rc = rc.WithCoreFeatures(features).WithDebugInfoEnabled(false).WithMemoryLimitPages(modules.MaxMemoryPages)
	rt := wazero.NewRuntimeWithConfig(ctx, rc)
	for what, bind := range map[string]func(context.Context, wazero.Runtime) error{"the contract": bindContract, "the meter": bindMeter, "WASI": bindWASI} {
		if err := bind(ctx, rt); err != nil {
			return nil, errors.Join(fmt.Errorf("bind %s: %w", what, err), rt.Close(ctx))
		}
	}
	return rt, nil
}

// errClosed says that the engine was closed, whatever a guest did.
var errClosed = errors.New("the engine is closed")

// Close releases all compiled code. A guest that runs still is stopped by it, which is not its failure.
func (e *Engine) Close(ctx context.Context) error {
	if !e.closed.Swap(true) && e.folder != nil {
		e.folder.close()
	}
	err := e.slow.close(ctx)
	if e.rt != nil {
		err = errors.Join(err, e.rt.Close(ctx))
	}
	e.mu.Lock()
	for el := e.recent.Front(); el != nil; el = el.Next() {
		el.Value.(*Module).image.close()
	}
	e.mu.Unlock()
	if e.cache != nil {
		if cerr := e.cache.Close(ctx); err == nil {
			err = cerr
		}
	}
	if e.ownDir != "" {
		err = errors.Join(err, os.RemoveAll(e.ownDir))
	}
	return err
}

// Module is a compiled module with its image, ready for instances.
type Module struct {
	engine   *Engine
	digest   modules.Digest
	prepared *modules.Prepared
	compiled wazero.CompiledModule
	// interpreted is the interpreter's runtime when the module is not compiled.
	interpreted wazero.Runtime
	image       *image
	globals     []string // names of the exports whose values an image has

	needs atomic.Int64 // bytes that its instances have needed lately
	runs  atomic.Int64 // instances that have ended

	// strays says that an instance did something else than it should when it was to be frozen.
	strays atomic.Bool
	// ended is told of each instance that has ended itself, before it is closed. For tests.
	ended func(in *instance, inst api.Module)

	mu      sync.Mutex
	making  int  // instances that are being made; compiled is not closed under them
	dropped bool // the engine does not keep it; the last of making closes compiled
}

// Prepared is what the module was made from.
func (m *Module) Prepared() *modules.Prepared { return m.prepared }

// Warm says that instances begin after the module's initialisation.
func (m *Module) Warm() bool { return m.image.Warm }

// Image says how many bytes of memory an instance begins with, and why its initialisation has to run in it.
func (m *Module) Image() (bytes int64, why string) { return int64(m.image.Size), m.image.Why }

// Cached returns a compiled module if the engine has it.
func (e *Engine) Cached(d modules.Digest) (*Module, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	el, ok := e.mods[d]
	if !ok {
		return nil, false
	}
	e.recent.MoveToFront(el)
	return el.Value.(*Module), true
}

// Load compiles a prepared module, once however many ask at the same time.
// It returns a *modules.RefusedError for a module that does not validate.
func (e *Engine) Load(ctx context.Context, p *modules.Prepared) (*Module, error) {
	if m, ok := e.Cached(p.Digest); ok {
		return m, nil
	}
	v, err, _ := e.flight.Do(string(p.Digest), func() (any, error) {
		if m, ok := e.Cached(p.Digest); ok {
			return m, nil
		}
		// The caller that came first must not take the compilation of the others with it.
		m, err := e.build(context.WithoutCancel(ctx), p)
		if err != nil {
			return nil, err
		}
		e.keep(ctx, m)
		return m, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*Module), nil
}

// build compiles a module and makes its image, or takes both from the cache.
func (e *Engine) build(ctx context.Context, p *modules.Prepared) (*Module, error) {
	slow, err := e.interpreterOf(ctx, p.Digest)
	if err != nil {
		return nil, err
	}
	var ready *image
	var compiled wazero.CompiledModule
	if slow != nil {
		compiled, err = slow.CompileModule(ctx, p.Code) // to instructions of the interpreter's own: nothing that a processor runs
	} else {
		if ready, err = e.apart(ctx, p); err != nil {
			return nil, err
		}
		compiled, err = e.compile(ctx, p.Code)
	}
	var disk *fs.PathError
	switch {
	case err != nil && e.closed.Load():
		return nil, errClosed
	case errors.As(err, &disk):
		return nil, fmt.Errorf("compile cache: %w", err) // the module is not to blame
	case err != nil:
		return nil, invalid(err.Error())
	}
	m := &Module{engine: e, digest: p.Digest, compiled: compiled, interpreted: slow, prepared: p, image: ready}
	for _, i := range p.Rewritten.Globals {
		m.globals = append(m.globals, fmt.Sprint(rewrite.ExportGlobal, i))
	}
	if m.image == nil {
		m.image, err = e.imageOf(ctx, m)
	}
	if err == nil {
		err = m.image.open(e.cfg.Copies)
	}
	if err != nil {
		return nil, errors.Join(err, compiled.Close(ctx))
	}
	return m, nil
}

// imageOf finds the image in the cache, or makes it and puts it there.
func (e *Engine) imageOf(ctx context.Context, m *Module) (*image, error) {
	path := imagePath(e.cfg.CacheDir, m.prepared.ImageKey)
	if m.interpreted != nil {
		path += "-interpreted" // what compiled code left may be what the module is not to be compiled for
	}
	if e.cfg.CacheDir != "" {
		im, err := readImage(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDamaged) {
			return im, err
		}
	}
	im, err := m.warm(ctx)
	if err != nil {
		return nil, fmt.Errorf("image of module %s: %w", m.digest.Short(), err)
	}
	if e.cfg.CacheDir != "" {
		err = im.save(path)
	}
	return im, err
}

// cacheTrouble begins wazero's errors about an entry of its disk cache.
const cacheTrouble = "compilationcache:"

// compile compiles, or takes from the disk cache. A damaged entry says nothing about the module: the cache
// is emptied and the module compiled again.
func (e *Engine) compile(ctx context.Context, code []byte) (wazero.CompiledModule, error) {
	compiled, err := e.rt.CompileModule(ctx, code)
	if err == nil || e.cache == nil || !strings.Contains(err.Error(), cacheTrouble) {
		return compiled, err
	}
	if err := emptyFolder(e.cfg.CacheDir); err != nil {
		return nil, fmt.Errorf("compile cache: %w", err)
	}
	return e.rt.CompileModule(ctx, code)
}

// emptyFolder removes the files of a folder and of those below it, and keeps the folders, which wazero
// makes only once.
func emptyFolder(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// keep adds a module and drops the least recently used beyond the bound. Instances of a dropped module
// live on; wazero frees its code when the last is gone.
func (e *Engine) keep(ctx context.Context, m *Module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mods[m.digest] = e.recent.PushFront(m)
	for e.recent.Len() > e.cfg.MaxModules {
		el := e.recent.Back()
		old := e.recent.Remove(el).(*Module)
		delete(e.mods, old.digest)
		old.drop(ctx)
	}
}

// drop closes the compiled code, or leaves that to the last instance that is being made: a guest's start
// section runs meanwhile, for as long as it likes.
func (m *Module) drop(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropped = true
	if m.making == 0 {
		m.close(ctx)
	}
}

// hold keeps the compiled code until letGo; false when it was dropped.
func (m *Module) hold() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dropped {
		return false
	}
	m.making++
	return true
}

func (m *Module) letGo(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.making--; m.making == 0 && m.dropped {
		m.close(ctx)
	}
}

func (m *Module) close(ctx context.Context) {
	_ = m.compiled.Close(ctx)
	m.image.close()
}

// held returns the module, compiled again if the engine dropped it meanwhile. letGo must be called.
func (m *Module) held(ctx context.Context) (*Module, error) {
	for !m.hold() {
		fresh, err := m.engine.Load(ctx, m.prepared)
		if err != nil {
			return nil, err
		}
		m = fresh
	}
	return m, nil
}
