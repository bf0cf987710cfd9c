// Package attack holds the tests that attack a host as a hostile tenant would: bytes made to crash a decoder or
// compiler, uploads that never end, guests that loop, recurse, bloat or break the contract. Each attack has a
// number and runs in a process of its own against a whole host (SQLite, HTTP on a loopback address, a
// compiler in a child process), under a limit of memory, of processor time and of the wall clock. An attack has
// failed only when that process goes on to serve another tenant, ends in order, and leaks nothing.
// The package has no code of its own; the table is in table_test.go.
package attack
