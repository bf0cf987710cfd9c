package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"reprise/internal/soak"
)

func (p *program) soak() *cli.Command {
	return leaf(&cli.Command{
		Name:  "soak",
		Usage: "kill and freeze hosts and restart Postgres under random programs, and compare with a model",
		Description: "It starts hosts and, unless --journal names another, a Postgres server of its own, and leaves no process and no file. stdout: one" +
			" figure a line; the last are commands, kills, restarts, lost and duplicated. The exit code is 1 when something was lost, duplicated or" +
			" wrong; what it was, and where the hosts' logs are, goes to stderr. See GUARANTEES.md.",
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "seconds", Value: 60, Usage: "how long runs are started and harm is done"},
			&cli.StringFlag{Name: "seed", Usage: "number that the programs and the harm are drawn from; a new one when absent"},
			&cli.StringFlag{Name: "journal", Usage: "postgres://…: its server is not restarted, and the runs stay in it; sqlite, or the path of a file: one host; by default a Postgres server of its own"},
			&cli.IntFlag{Name: "hosts", Value: 3, Usage: "host processes"},
			&cli.IntFlag{Name: "runs", Value: 24, Usage: "runs that are open at once"},
			&cli.DurationFlag{Name: "lease-ttl", Value: 3 * time.Second, Usage: "the hosts' lease; a frozen host is frozen for longer"},
			&cli.DurationFlag{Name: "settle", Value: 2 * time.Minute, Usage: "how long open runs may take once the harm is over"},
		}, outputFlags()...),
		Action: func(c *cli.Context) error {
			cfg, err := soakConfig(c)
			if err != nil {
				return err
			}
			pr, err := p.printer(c)
			if err != nil {
				return err
			}
			if pr.format != "none" {
				cfg.Progress = p.stderr
			}
			pr.say("seed %d", cfg.Seed)
			report, err := soak.Run(c.Context, cfg)
			if err == nil {
				err = pr.print(report, func(w io.Writer) { writeSoak(w, report) })
			}
			return errors.Join(err, pr.soakFailed(report, err))
		},
	})
}

func soakConfig(c *cli.Context) (soak.Config, error) {
	usage := func(format string, args ...any) (soak.Config, error) {
		return soak.Config{}, &usageError{command: c.Command.HelpName, what: fmt.Sprintf(format, args...)}
	}
	program, err := os.Executable()
	if err != nil {
		return soak.Config{}, fmt.Errorf("find this program: %w", err)
	}
	cfg := soak.Config{Program: program, Duration: time.Duration(c.Int("seconds")) * time.Second, Seed: rand.Uint64N(1 << 32),
		Journal: c.String("journal"), Hosts: c.Int("hosts"), Runs: c.Int("runs"), LeaseTTL: c.Duration("lease-ttl"), Settle: c.Duration("settle")}
	if text := c.String("seed"); text != "" {
		if cfg.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return usage("--seed %.40q is not a whole number from 0", text)
		}
	}
	if cfg.Duration <= 0 || cfg.Hosts < 1 || cfg.Runs < 1 {
		return usage("--seconds, --hosts and --runs are at least 1")
	}
	if cfg.LeaseTTL < time.Second || cfg.Settle <= 0 {
		return usage("--lease-ttl is at least 1s, --settle longer than 0")
	}
	return cfg, nil
}

// soakFailed tells what was found, or where a soak that broke off has left its logs.
func (p *printer) soakFailed(r soak.Report, err error) error {
	for _, f := range r.Findings {
		p.say("%s", clean(f))
	}
	if r.Logs != "" {
		p.say("seed %d; the hosts' logs are in %s", r.Seed, r.Logs)
	}
	if err != nil || r.OK() {
		return nil
	}
	return fmt.Errorf("the soak found %d lost, %d duplicated, %d wrong", r.Lost, r.Duplicated, r.Wrong)
}

func writeSoak(w io.Writer, r soak.Report) {
	for _, line := range []struct {
		name string
		n    int64
	}{
		{"runs", int64(r.Runs)}, {"signals", int64(r.Signals)}, {"effects", r.Effects}, {"requests", r.Requests},
		{"freezes", int64(r.Freezes)}, {"takeovers", int64(r.Takeovers)}, {"wrong", int64(r.Wrong)},
		{"commands", int64(r.Commands)}, {"kills", int64(r.Kills)}, {"restarts", int64(r.Restarts)},
		{"lost", int64(r.Lost)}, {"duplicated", int64(r.Duplicated)},
	} {
		fmt.Fprintf(w, "%s %d\n", line.name, line.n)
	}
}
