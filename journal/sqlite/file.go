package sqlite

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// pragmas of every connection. The cache is 64 MB; a checkpoint is due after 10,000 pages of WAL
// (40 MB), since a checkpoint every 1,000 pages costs more flushes than the appends themselves.
const pragmas = `_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=cache_size(-65536)&_pragma=temp_store(2)`

const memoryDSN = `:memory:?` + pragmas

func fileDSN(path string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: pragmas +
		`&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(10000)`}
	return u.String()
}

// prepareFile makes the file if it is not there, readable by its owner only, and returns its one true
// path, so that two names of one file meet at one lock.
func prepareFile(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// fileLock keeps other processes, and a second Open in this one, away from the database's file. It
// is held by an open file description, so it ends with the process, however that ends.
type fileLock struct{ f *os.File }

func lockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, inUseError(f)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := errors.Join(f.Truncate(0), writePID(f)); err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return &fileLock{f}, nil
}

func writePID(f *os.File) error {
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func inUseError(f *os.File) error {
	b, _ := io.ReadAll(io.LimitReader(f, 20))
	pid := strings.TrimSpace(string(b))
	switch pid {
	case strconv.Itoa(os.Getpid()):
		return errors.New("the file is already open in this process")
	case "":
		pid = "unknown" // it has the lock and has not said its name yet
	}
	return fmt.Errorf("the file is open in another reprise process (pid %s); stop that process, or use another file", pid)
}

// release gives the lock up. The file stays: to remove it would let two processes lock two files.
func (l *fileLock) release() error { return l.f.Close() }
