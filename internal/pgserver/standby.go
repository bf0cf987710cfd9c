package pgserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Standby makes a server that follows this one, asynchronously, and starts it. Close ends it.
func (s *Server) Standby() (*Server, error) {
	b, err := s.beside()
	if err != nil {
		return nil, err
	}
	if err := s.copyTo(b); err != nil {
		b.watch.end()
		return nil, err
	}
	return b, nil
}

// beside is another server of the same installation and user, without data.
func (s *Server) beside() (*Server, error) {
	b := &Server{bin: s.bin, owner: s.owner}
	var err error
	if b.dir, err = os.MkdirTemp(tempDir(b.owner), "reprise-pg-"); err != nil {
		return nil, fmt.Errorf("server folder: %w", err)
	}
	if b.watch, err = startWatcher(b.dir); err != nil {
		return nil, err
	}
	return b, nil
}

// copyTo starts b on a copy of what s has now, as its standby.
func (s *Server) copyTo(b *Server) error {
	if err := s.backupTo(b, "-R"); err != nil {
		return err
	}
	return b.Start()
}

// backupTo fills b with a backup of s, and gives it a port of its own.
func (s *Server) backupTo(b *Server, options ...string) error {
	if err := b.giveFolder(); err != nil {
		return err
	}
	backup := filepath.Join(filepath.Dir(s.bin.pgCtl), "pg_basebackup")
	args := append([]string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres", "-D", b.data(), "-X", "stream", "-c", "fast", "--no-sync"}, options...)
	if err := b.run(backup, args...); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	b.port = port
	return b.set("port = " + strconv.Itoa(port))
}

// Backup takes a backup of the running server. Start of what it returns is its restoration, on a port of its own; Close removes it.
func (s *Server) Backup() (*Server, error) {
	b, err := s.beside()
	if err != nil {
		return nil, err
	}
	if err := s.backupTo(b); err != nil {
		b.watch.end()
		return nil, err
	}
	return b, nil
}

// Promote makes a standby a primary of its own. Whether the server that it followed still runs does not matter.
func (s *Server) Promote() error {
	return s.run(s.bin.pgCtl, "promote", "-w", "-D", s.data())
}
