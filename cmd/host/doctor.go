package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"reprise/abi"
	"reprise/host/client"
)

// maxSkew is how far a host's clock may be off before leases and timers are hard to understand.
const maxSkew = 2 * time.Second

// check is one finding of doctor.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

func (p *program) doctor() *cli.Command {
	return p.remote(&cli.Command{
		Name:        "doctor",
		Usage:       "check a host, and what a node on this machine would need",
		Description: "One line a check. The exit code is 0 when all are ok and 1 otherwise.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "journal", Usage: "also open this journal as a node would: its schema is made or migrated", EnvVars: []string{"REPRISE_JOURNAL"}},
			&cli.StringFlag{Name: "cache-dir", Usage: "also check this folder for compiled modules", EnvVars: []string{"REPRISE_CACHE_DIR"}},
			&cli.DurationFlag{Name: "timeout", Value: 10 * time.Second, Usage: "for each check"},
		},
	}, func(c *call) error {
		checks := c.checkHost()
		if name := c.String("journal"); name != "" {
			checks = append(checks, c.within(func(ctx context.Context) check { return checkJournal(ctx, name) }))
		}
		if dir := c.String("cache-dir"); dir != "" {
			checks = append(checks, checkCache(dir))
		}
		bad := 0
		for _, k := range checks {
			if !k.OK {
				bad++
			}
		}
		err := list(c.printer, checks, checks, func(w io.Writer) { writeChecks(w, checks) })
		if err == nil && bad > 0 {
			err = fmt.Errorf("%d of %d checks failed", bad, len(checks))
		}
		return err
	})
}

func writeChecks(w io.Writer, checks []check) {
	for _, k := range checks {
		word := "OK  "
		if !k.OK {
			word = "FAIL"
		}
		fmt.Fprintf(w, "%s  %-12s %s\n", word, k.Name, clean(k.Detail))
		if !k.OK && k.Remedy != "" {
			fmt.Fprintf(w, "      %-12s %s\n", "", clean(k.Remedy))
		}
	}
}

func (c *call) within(f func(context.Context) check) check {
	ctx, cancel := context.WithTimeout(c.Context.Context, c.Duration("timeout"))
	defer cancel()
	return f(ctx)
}

// checkHost asks a host. When it does not answer, the checks that need an answer are left out.
func (c *call) checkHost() []check {
	var clock check
	version := c.within(func(ctx context.Context) check {
		asked := time.Now()
		v, err := c.client.Version(ctx)
		if err != nil {
			return failedCall("host", err)
		}
		clock = checkClock(asked, time.Now(), v.Time)
		k := check{Name: "host", OK: v.ABI == abi.Version, Detail: fmt.Sprintf("%s answers: version %s, abi %d", c.client.Addr(), v.Version, v.ABI)}
		if !k.OK {
			k.Remedy = fmt.Sprintf("this program knows abi %d; use the same version on both sides", abi.Version)
		}
		return k
	})
	if clock.Name == "" {
		return []check{version}
	}
	ready := c.within(func(ctx context.Context) check {
		h, err := c.client.Ready(ctx)
		if err != nil {
			return failedCall("ready", err)
		}
		k := check{Name: "ready", OK: h.Status == "ok", Detail: h.Status}
		for _, part := range h.Checks {
			if !part.OK {
				k.Detail += "; " + part.Name + ": " + part.Error
				k.Remedy = "see the host's log; its journal must be reachable and it must not be stopping"
			}
		}
		return k
	})
	return []check{version, ready, clock}
}

func failedCall(name string, err error) check {
	k := check{Name: name, Detail: err.Error()}
	var told *client.Error
	if errors.As(err, &told) {
		k.Remedy = told.Fix
	} else {
		k.Remedy = hintFor(err)
	}
	return k
}

// checkClock compares clocks: the host's must lie between the moments before and after the call.
func checkClock(before, after time.Time, theirs string) check {
	t, err := time.Parse(time.RFC3339Nano, theirs)
	if err != nil {
		return check{Name: "clock", Detail: "the host sent no time"}
	}
	skew := max(before.Sub(t), t.Sub(after), 0)
	return check{
		Name: "clock", OK: skew <= maxSkew, Detail: fmt.Sprintf("%s apart", skew.Round(time.Millisecond)),
		Remedy: "let both machines keep time, for example with chrony",
	}
}

// checkCache looks whether compiled modules can be kept in a folder, without making it.
func checkCache(dir string) check {
	k := check{Name: "cache", Detail: dir, Remedy: "make the folder with mode 0700, owned by the user that runs the host"}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		parent := filepath.Dir(filepath.Clean(dir))
		k = checkCache(parent)
		k.Detail = fmt.Sprintf("%s will be made in %s", dir, parent)
		return k
	case err != nil:
		k.Detail = err.Error()
		return k
	case !info.IsDir():
		k.Detail = dir + " is not a folder"
		return k
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		k.Detail = err.Error()
		return k
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	k.OK = true
	return k
}

// checkJournal opens a journal and reads its clock. It leaves a file that does not exist alone, because
// opening one makes it.
func checkJournal(ctx context.Context, name string) check {
	k := check{Name: "journal", Detail: journalText(name)}
	path := strings.TrimPrefix(name, sqlitePrefix)
	if !strings.HasPrefix(name, postgresPrefix) {
		if _, err := os.Stat(path); err != nil {
			k.Detail, k.Remedy = err.Error(), "start reprise serve once with this journal; it makes the file"
			return k
		}
	}
	k.Remedy = "the database must be reachable with these credentials and of this program's schema"
	store, err := openJournal(ctx, name, slog.New(slog.DiscardHandler))
	if err != nil {
		k.Detail = err.Error()
		return k
	}
	defer store.Close()
	if _, err := store.Now(ctx); err != nil {
		k.Detail = err.Error()
		return k
	}
	k.OK = true
	return k
}
