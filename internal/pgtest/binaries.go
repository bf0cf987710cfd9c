package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// binaries are the Postgres programs that a cluster needs, all of one installation.
type binaries struct {
	initdb, pgCtl, psql string
}

var errNoPostgres = errors.New("no Postgres server programs found (initdb, pg_ctl, postgres, psql); " +
	"install them with: apt-get install postgresql\n" +
	"or point " + Env + " at a server that may be filled with test databases")

// findBinaries looks where pg_config points, then in Debian's versioned folders, newest first, then
// in PATH.
func findBinaries() (binaries, error) {
	var dirs []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	sort.Sort(sort.Reverse(sort.StringSlice(debian)))
	dirs = append(dirs, debian...)
	dirs = append(dirs, filepath.SplitList(os.Getenv("PATH"))...)
	for _, dir := range dirs {
		b := binaries{filepath.Join(dir, "initdb"), filepath.Join(dir, "pg_ctl"), filepath.Join(dir, "psql")}
		if executable(b.initdb) && executable(b.pgCtl) && executable(filepath.Join(dir, "postgres")) {
			if executable(b.psql) {
				return b, nil
			}
			if psql, err := exec.LookPath("psql"); err == nil {
				b.psql = psql
				return b, nil
			}
		}
	}
	if psql, err := exec.LookPath("psql"); err == nil && os.Getenv(Env) != "" {
		return binaries{psql: psql}, nil
	}
	return binaries{}, errNoPostgres
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
