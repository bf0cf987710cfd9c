package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// conn is one connection with its prepared statements, one for each text. One goroutine uses it at a
// time. Its statements take no context: a statement on a local file is short, and one that were
// broken off inside a shared transaction would take the others' writes with it.
type conn struct {
	c     *sql.Conn
	stmts map[string]*sql.Stmt
}

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &conn{c: c, stmts: map[string]*sql.Stmt{}}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

func (c *conn) prepare(text string) (*sql.Stmt, error) {
	if s := c.stmts[text]; s != nil {
		return s, nil
	}
	s, err := c.c.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, fmt.Errorf("prepare statement: %w", err)
	}
	c.stmts[text] = s
	return s, nil
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(text string, args ...any) (int64, error) {
	s, err := c.prepare(text)
	if err != nil {
		return 0, err
	}
	r, err := s.Exec(args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// row runs a query of at most one row and scans it; found is false when there is none.
func (c *conn) row(text string, args []any, dest ...any) (found bool, err error) {
	s, err := c.prepare(text)
	if err != nil {
		return false, err
	}
	err = s.QueryRow(args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each runs a query and calls scan for each row until it returns false. scan must not use c.
func (c *conn) each(text string, args []any, scan func(row scanner) (more bool, err error)) error {
	s, err := c.prepare(text)
	if err != nil {
		return err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := scan(rows); !more || err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanner is a row of a result.
type scanner interface{ Scan(dest ...any) error }

// read runs a query on a connection that reads. It sees every write that was acknowledged before.
func (s *Store) read(ctx context.Context, do func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c := <-s.readers:
		defer func() { s.readers <- c }()
		return do(c)
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return errClosed
	}
}
