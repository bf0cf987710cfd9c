// Package soak owns the long test of what the host promises: random programs, which an interpreter module carries out
// on several host processes while these are killed and frozen and their Postgres is restarted; in the end counters,
// journals, signals and outcomes must be what a model of the programs says. It speaks to hosts as any client does,
// starts them from the program that it is given, and leaves no process and no file. The command reprise soak calls it.
package soak

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"reprise/host/client"
	"reprise/internal/pgserver"
)

// guest is guest.wat, assembled.
//
//go:embed guest.wasm
var guest []byte

// Config says what a soak does. Program is required.
type Config struct {
	// Program is the reprise program that the hosts run.
	Program string
	// Duration is how long runs are started and harm is done. Default 60s.
	Duration time.Duration
	// Seed makes the programs and the order of the harm; when each thing happens is not repeated.
	Seed uint64
	// Journal is a DSN of Postgres, or a file of SQLite, then with one host. Default: a Postgres server of the soak's
	// own, which is restarted too.
	Journal string
	// Hosts is the number of host processes. Default 3.
	Hosts int
	// Runs is how many runs are open at once. Default 24.
	Runs int
	// LeaseTTL is the hosts' lease. Default 3s.
	LeaseTTL time.Duration
	// Settle is how long the open runs may take once the harm is over. Default 2m.
	Settle time.Duration
	// Progress gets a line now and then. Default: discard.
	Progress io.Writer

	broken fault // of the ledger, in tests
}

// ToSQLite as Config.Journal is a file that the soak makes and removes.
const ToSQLite = "sqlite"

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Duration, time.Minute)
	def(&c.LeaseTTL, 3*time.Second)
	def(&c.Settle, 2*time.Minute)
	if c.Hosts == 0 {
		c.Hosts = 3
	}
	if c.Journal != "" && !isPostgres(c.Journal) {
		c.Hosts = 1 // one process at a time may open the file
	}
	if c.Runs == 0 {
		c.Runs = 24
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	return c
}

func isPostgres(journal string) bool {
	return strings.HasPrefix(journal, "postgres://") || strings.HasPrefix(journal, "postgresql://")
}

// Report is what a soak saw.
type Report struct {
	Seed       uint64   `json:"seed"`
	Seconds    int      `json:"seconds"` // of harm; the whole takes longer
	Runs       int      `json:"runs"`
	Signals    int      `json:"signals"`
	Effects    int64    `json:"effects"`  // idempotency keys that reached the ledger
	Requests   int64    `json:"requests"` // of effects, repeats included
	Freezes    int      `json:"freezes"`
	Takeovers  int      `json:"takeovers"` // of runs whose host had died or was frozen
	Wrong      int      `json:"wrong"`     // breaches that are neither lost nor duplicated
	Commands   int      `json:"commands"`
	Kills      int      `json:"kills"`
	Restarts   int      `json:"restarts"` // of Postgres
	Lost       int      `json:"lost"`
	Duplicated int      `json:"duplicated"`
	Findings   []string `json:"findings,omitempty"`
	Logs       string   `json:"logs,omitempty"` // folder of the hosts' logs, kept when something was found
}

// OK says that nothing was found.
func (r Report) OK() bool { return r.Lost+r.Duplicated+r.Wrong == 0 }

// maxFindings bounds the findings that are told one by one.
const maxFindings = 50

func (r *Report) add(fs ...finding) {
	for _, f := range fs {
		switch f.class {
		case lost:
			r.Lost++
		case duplicated:
			r.Duplicated++
		default:
			r.Wrong++
		}
		if len(r.Findings) < maxFindings {
			r.Findings = append(r.Findings, string(f.class)+": "+f.text)
		}
	}
}

// soak is one soak under way.
type soak struct {
	cfg    Config
	dir    string
	ledger *ledger
	server *pgserver.Server
	hosts  []*hostProcess
	fleet  fleet
	chaos  *chaos
	began  time.Time
	name   string // of the workflow, and in what the soak leaves in a journal that is not its own
}

// Run carries out a soak. An error says that it could not be carried out or was interrupted; what it found is in the
// report. All that it started is gone when it returns; when the report is not OK, or there is an error, the hosts'
// logs are kept in the folder Report.Logs.
func Run(ctx context.Context, cfg Config) (report Report, err error) {
	cfg = cfg.withDefaults()
	report = Report{Seed: cfg.Seed, Seconds: int(cfg.Duration.Seconds())}
	dir, err := os.MkdirTemp("", "reprise-soak-")
	if err != nil {
		return report, fmt.Errorf("folder of the soak: %w", err)
	}
	s := &soak{cfg: cfg, dir: dir, began: time.Now(), name: fmt.Sprintf("soak-%x-%x", cfg.Seed, time.Now().UnixNano())}
	defer func() {
		s.close()
		report.Logs, err = s.leave(err == nil && report.OK(), err)
	}()
	if err := s.open(ctx); err != nil {
		return report, err
	}
	return report, s.soak(ctx, &report)
}

// open starts the ledger, the database and the hosts, and pushes the interpreter.
func (s *soak) open(ctx context.Context) (err error) {
	if s.ledger, err = startLedger(s.cfg.broken); err != nil {
		return err
	}
	journal := s.cfg.Journal
	switch journal {
	case "":
		if s.server, err = pgserver.New(pgserver.Options{Durable: true}); err != nil {
			return err
		}
		journal = s.server.DSN("postgres")
	case ToSQLite:
		journal = filepath.Join(s.dir, "journal.db")
	}
	for i := range s.cfg.Hosts {
		h, err := newHost(s.cfg, s.dir, journal, fmt.Sprintf("%s-host%d", s.name, i+1), s.ledger.addr())
		if err != nil {
			return err
		}
		s.hosts = append(s.hosts, h)
		h.busy.Lock()
		err = h.start(ctx, "")
		h.busy.Unlock()
		if err != nil {
			return fmt.Errorf("host %d: %w", i+1, err)
		}
	}
	s.fleet = s.hosts
	err = s.fleet.call(ctx, time.Minute, func(ctx context.Context, c *client.Client) error {
		_, err := c.PushModule(ctx, s.name, guest, "")
		return err
	})
	if err != nil {
		return fmt.Errorf("push the interpreter: %w", err)
	}
	return nil
}

// soak is the soak itself, once everything serves.
func (s *soak) soak(ctx context.Context, report *Report) error {
	points, err := failpoints(ctx, s.cfg.Program)
	if err != nil {
		return err
	}
	life, end := context.WithCancel(ctx)
	s.chaos = &chaos{cfg: s.cfg, hosts: s.hosts, server: s.server, points: points, say: s.say,
		rng: rand.New(rand.NewPCG(s.cfg.Seed, 0))}
	defer func() { end(); s.chaos.stop() }()
	harm, calm := context.WithTimeout(ctx, s.cfg.Duration)
	defer calm()
	runs, giveUp := context.WithCancel(life)
	defer giveUp()
	d := newDriver(s)
	d.start(runs, harm.Done())
	s.say("%d hosts serve; the harm begins", len(s.hosts))
	s.chaos.run(harm, life)
	if ctx.Err() != nil {
		d.wait()
		return ctx.Err()
	}
	s.say("the harm is over; waiting for the runs that are open")
	settled := time.AfterFunc(s.cfg.Settle, giveUp)
	d.wait()
	settled.Stop()
	d.audit(ctx)
	d.tell(report)
	return ctx.Err()
}

// failpoints asks a program for the places at which it can be made to die.
func failpoints(ctx context.Context, program string) ([]string, error) {
	out, err := exec.CommandContext(ctx, program, "failpoints").Output()
	if err != nil {
		return nil, fmt.Errorf("failpoints of %s: %w", program, err)
	}
	return strings.Fields(string(out)), nil
}

func (s *soak) say(format string, args ...any) {
	fmt.Fprintf(s.cfg.Progress, "%4ds  %s\n", int(time.Since(s.began).Seconds()), fmt.Sprintf(format, args...))
}

// close ends every process.
func (s *soak) close() {
	for _, h := range s.hosts {
		h.close()
	}
	if s.ledger != nil {
		s.ledger.close()
	}
	if s.server != nil {
		s.server.Close()
	}
}

// leave removes the soak's folder; unless all went well the hosts' logs stay, and their folder is returned.
func (s *soak) leave(well bool, err error) (string, error) {
	if well {
		return "", errors.Join(err, os.RemoveAll(s.dir))
	}
	files, readErr := os.ReadDir(s.dir)
	err = errors.Join(err, readErr)
	logs := 0
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".log") {
			logs++
			continue
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, f.Name())))
	}
	if logs == 0 {
		return "", errors.Join(err, os.RemoveAll(s.dir))
	}
	return s.dir, err
}
