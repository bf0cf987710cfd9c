package pgserver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// binaries are the Postgres programs that a server needs, all of one installation.
type binaries struct {
	initdb, pgCtl string
}

// ErrNoPostgres says that this machine has no Postgres server.
var ErrNoPostgres = errors.New("no Postgres server programs found (initdb, pg_ctl, postgres); " +
	"install them with: apt-get install postgresql")

// findBinaries looks in the folders of Dirs for programs of one installation.
func findBinaries() (binaries, error) {
	for _, dir := range Dirs() {
		b := binaries{filepath.Join(dir, "initdb"), filepath.Join(dir, "pg_ctl")}
		if executable(b.initdb) && executable(b.pgCtl) && executable(filepath.Join(dir, "postgres")) {
			return b, nil
		}
	}
	return binaries{}, ErrNoPostgres
}

// Dirs are the folders that may hold Postgres' programs: where pg_config points, Debian's versioned
// folders, newest first, then PATH.
func Dirs() []string {
	var dirs []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	sort.Sort(sort.Reverse(sort.StringSlice(debian)))
	dirs = append(dirs, debian...)
	dirs = append(dirs, filepath.SplitList(os.Getenv("PATH"))...)
	return dirs
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
