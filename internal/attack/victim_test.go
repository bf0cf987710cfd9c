package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/goleak"

	"reprise/host"
	"reprise/host/api"
	"reprise/host/effect"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// The tenants of every host under attack: ann attacks, and bob is to notice nothing.
const (
	ann tenant.ID = "ann"
	bob tenant.ID = "bob"
)

// patience bounds every wait inside the process. Only what hangs meets it, and the process's own bound comes first.
const patience = 10 * time.Minute

// victim is the host under attack, seen from inside its process.
type victim struct {
	dir    string
	store  *sqlite.Store
	host   *host.Host
	url    string
	client *http.Client
	server *http.Server
	served chan error
	log    *logSink

	mu     sync.Mutex
	failed bool
}

// underAttack is the whole life of the process under attack. It returns the status to exit with.
func underAttack(name string) int {
	a, ok := find(name)
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no attack %q\n", name)
		return exitFailed
	}
	if err := a.bounds.withDefaults().limitSelf(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	v := &victim{dir: os.Getenv(folderEnv), log: &logSink{}}
	if v.suffer(a) {
		fmt.Println(survived + name)
		return exitSurvived
	}
	return exitFailed
}

// suffer lets the attack happen, and says whether all was as expected.
func (v *victim) suffer(a attack) bool {
	running := goleak.IgnoreCurrent()
	cfg := config{effects: effect.Registry{}}
	if a.setup != nil {
		a.setup(&cfg)
	}
	v.attempt(func() { v.start(cfg) })
	if !v.failed {
		v.attempt(func() { a.run(v) })
		v.attempt(func() { v.alive("after the attack") })
	}
	v.attempt(v.stop)
	if err := leaks(running); err != nil {
		v.errorf("goroutines are left: %v", err)
	}
	return !v.failed
}

// leaks looks several times: a connection that net/http closes while its client still sends lives half a second longer.
func leaks(running goleak.Option) (err error) {
	for range 10 {
		if err = goleak.Find(running); err == nil {
			return nil
		}
	}
	return err
}

// gaveUp unwinds fatalf.
type gaveUp struct{}

func (v *victim) attempt(f func()) {
	defer func() {
		if p := recover(); p != nil && p != any(gaveUp{}) {
			panic(p)
		}
	}()
	f()
}

// errorf says that something was not as expected; the attack goes on.
func (v *victim) errorf(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = true
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// fatalf says so and ends the attack. Only the goroutine of the attack may call it.
func (v *victim) fatalf(format string, args ...any) {
	v.errorf(format, args...)
	panic(gaveUp{})
}

func (v *victim) check(what string, err error) {
	if err != nil {
		v.fatalf("%s: %v", what, err)
	}
}

// config is what an attack may choose of its host.
type config struct {
	host    host.Config
	api     api.Config
	effects effect.Registry
}

// start makes the host: as cmd/host does, with short waits.
func (v *victim) start(cfg config) {
	ctx := context.Background()
	log := slog.New(slog.NewJSONHandler(v.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	v.store, err = sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(v.dir, "journal.db"), Logger: log})
	v.check("open the journal", err)
	cfg.effects["test.step"] = effect.Effect{Handler: effect.HandlerFunc(step)}
	c := cfg.host
	c.Store, c.Effects, c.Logger = v.store, cfg.effects, log
	c.Compiler = []string{host.SelfCompiler, compileCommand}
	if c.Poll == 0 {
		c.Poll = 20 * time.Millisecond
	}
	if c.HoldFor == 0 {
		c.HoldFor = 10 * time.Millisecond
	}
	v.host, err = host.New(c)
	v.check("make the host", err)
	v.check("start the host", v.host.Start(ctx))
	listener, err := api.Listen("127.0.0.1:0", true)
	v.check("listen", err)
	v.url = "http://" + listener.Addr().String()
	served := cfg.api
	served.UseCases, served.Logger = v.host, log
	served.Tokens = tenant.Tokens{tenant.NewToken(ann, token(ann)), tenant.NewToken(bob, token(bob))}
	v.server = api.NewServer(api.New(served), log)
	v.served = make(chan error, 1)
	go func() { v.served <- v.server.Serve(listener) }()
	v.client = &http.Client{Transport: &http.Transport{}}
}

func token(t tenant.ID) string { return "token of " + string(t) }

// step is the effect of the good run.
func step(_ context.Context, r effect.Request) ([]byte, error) {
	return fmt.Appendf(nil, "[%s]", r.Input), nil
}

// stop ends the host in order: an attack that makes it hang here has succeeded.
func (v *victim) stop() {
	if v.server != nil {
		v.client.CloseIdleConnections()
		if err := v.server.Close(); err != nil {
			v.errorf("close the server: %v", err)
		}
		if err := <-v.served; !errors.Is(err, http.ErrServerClosed) {
			v.errorf("serve: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if v.host != nil {
		if err := v.host.Stop(ctx); err != nil {
			v.errorf("stop the host: %v", err)
		}
	}
	if v.store != nil {
		if err := v.store.Close(); err != nil {
			v.errorf("close the journal: %v", err)
		}
	}
}

// alive shows that the host serves bob: a module is taken, and a run with effects completes.
func (v *victim) alive(when string) {
	v.pushed(bob, "steps", fixture("steps"))
	run := v.end(bob, v.begin(bob, "steps", []byte("3")))
	if got, want := string(run.Output), "[1][2][3]"; got != want {
		v.errorf("%s bob's run is %s with output %q (%s), want %q", when, run.State, got, run.Reason, want)
	}
}

// fixture reads a module that all packages use.
func fixture(name string) []byte { return mustRead(filepath.Join("../../testdata/wasm", name+".wasm")) }

// own reads a module of this package.
func own(name string) []byte { return mustRead(filepath.Join("testdata", name+".wasm")) }

func mustRead(path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return b
}

// logSink counts what the host logs, and keeps its beginning and, from a whole line on, its end.
type logSink struct {
	mu    sync.Mutex
	kept  []byte
	last  []byte
	total int64
}

const (
	logKept = 8 << 20
	logLast = 1 << 20
)

func (s *logSink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(len(p))
	if len(s.kept)+len(p) <= logKept && len(s.last) == 0 {
		s.kept = append(s.kept, p...)
		return len(p), nil
	}
	if s.last = append(s.last, p...); len(s.last) > 2*logLast {
		from := len(s.last) - logLast
		from += 1 + bytes.IndexByte(s.last[from:], '\n')
		s.last = append([]byte(nil), s.last[from:]...)
	}
	return len(p), nil
}

func (s *logSink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.kept) + string(s.last)
}

func (s *logSink) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

var _ io.Writer = (*logSink)(nil)
