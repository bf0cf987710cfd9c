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

func (s *Server) copyTo(b *Server) error {
	if err := b.giveFolder(); err != nil {
		return err
	}
	backup := filepath.Join(filepath.Dir(s.bin.pgCtl), "pg_basebackup")
	if err := b.run(backup, "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres", "-D", b.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync"); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	b.port = port
	if err := b.set("port = " + strconv.Itoa(port)); err != nil {
		return err
	}
	return b.Start()
}

// Promote makes a standby a primary of its own. Whether the server that it followed still runs does not matter.
func (s *Server) Promote() error {
	return s.run(s.bin.pgCtl, "promote", "-w", "-D", s.data())
}
