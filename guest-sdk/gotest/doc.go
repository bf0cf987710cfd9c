// Package gotest tests the Go SDK for real: it builds the guest programs of guest-sdk/go/testguests with
// the Go tool and runs them on a host with a journal in memory. It holds tests only; nobody imports it.
package gotest
