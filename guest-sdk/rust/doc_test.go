// Package rust_test runs the tests of the Rust SDK, which are programs for this machine. It has no place in a host.
package rust_test
