package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// database makes an empty database; the server is thrown away in the end.
func (b *bench) database(ctx context.Context) (dsn string, err error) {
	conn, err := pgx.Connect(ctx, b.server.DSN("postgres"))
	if err != nil {
		return "", fmt.Errorf("make a database: %w", err)
	}
	defer conn.Close(ctx)
	b.made++
	name := fmt.Sprintf("bench_%d", b.made)
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", fmt.Errorf("make a database: %w", err)
	}
	return b.server.DSN(name), nil
}
