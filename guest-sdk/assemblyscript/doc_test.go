// Package assemblyscript_test runs the workflows of the folder test. It has no place in a host.
package assemblyscript_test
