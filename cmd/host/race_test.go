//go:build race

package main

// raced says that the race detector is in this program, which then compiles a large module for longer than it may take.
const raced = true
