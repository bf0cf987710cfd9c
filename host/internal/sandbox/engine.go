package sandbox

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"golang.org/x/sync/singleflight"

	"reprise/modules"
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
	// Interpret runs guests by interpreter: slow, and stoppable by context at any point.
	Interpret bool
}

// Engine compiles modules and keeps the compiled ones, least recently used first out.
type Engine struct {
	cfg   Config
	rt    wazero.Runtime
	cache wazero.CompilationCache

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
		rc = wazero.NewRuntimeConfigInterpreter().WithCloseOnContextDone(true)
	}
	e := &Engine{cfg: cfg, mods: map[modules.Digest]*list.Element{}, recent: list.New()}
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
	// Debug information off: with DWARF a panic through a guest costs 3 ms instead of 5 us.
	rc = rc.WithCoreFeatures(features).WithDebugInfoEnabled(false).WithMemoryLimitPages(modules.MaxMemoryPages)
	e.rt = wazero.NewRuntimeWithConfig(ctx, rc)
	if err := bindContract(ctx, e.rt); err != nil {
		_ = e.Close(ctx)
		return nil, fmt.Errorf("bind the contract: %w", err)
	}
	if err := bindWASI(ctx, e.rt); err != nil {
		_ = e.Close(ctx)
		return nil, fmt.Errorf("bind WASI: %w", err)
	}
	return e, nil
}

// Close releases all compiled code; no guest may run any more.
func (e *Engine) Close(ctx context.Context) error {
	err := e.rt.Close(ctx)
	if e.cache != nil {
		if cerr := e.cache.Close(ctx); err == nil {
			err = cerr
		}
	}
	return err
}

// Module is a compiled module, ready for instances.
type Module struct {
	engine   *Engine
	digest   modules.Digest
	prepared *modules.Prepared
	// mu is held for reading while an instance is made, so that compiled is not closed under it.
	mu       sync.RWMutex
	compiled wazero.CompiledModule
	closed   bool
}

// Prepared is what the module was made from.
func (m *Module) Prepared() *modules.Prepared { return m.prepared }

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
		compiled, err := e.compile(context.WithoutCancel(ctx), p.Code)
		var disk *fs.PathError
		if errors.As(err, &disk) {
			return nil, fmt.Errorf("compile cache: %w", err) // the module is not to blame
		}
		if err != nil {
			return nil, &modules.RefusedError{Code: "invalid_module", What: fmt.Sprintf("the module does not validate: %.600q", err.Error()),
				Where: p.Digest.Short(), Fix: "rebuild it; SIMD, threads, exceptions, tail calls and multiple memories are not supported"}
		}
		m := &Module{engine: e, digest: p.Digest, compiled: compiled, prepared: p}
		e.keep(ctx, m)
		return m, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*Module), nil
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
		old.close(ctx)
	}
}

func (m *Module) close(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	_ = m.compiled.Close(ctx)
}

// instantiate makes an instance. A module that was dropped meanwhile is compiled again.
func (m *Module) instantiate(ctx context.Context, cfg wazero.ModuleConfig) (api.Module, error) {
	for {
		m.mu.RLock()
		if !m.closed {
			defer m.mu.RUnlock()
			return m.engine.rt.InstantiateModule(ctx, m.compiled, cfg)
		}
		m.mu.RUnlock()
		fresh, err := m.engine.Load(ctx, m.prepared)
		if err != nil {
			return nil, err
		}
		m = fresh
	}
}
