// Package conformance holds the languages to one contract: its tests run the programs of guest-sdk/conformance in every
// language that has an SDK, undisturbed, killed at every wait and every commit, and frozen in every wait, on a host in the same
// process with a journal in memory. Outputs, failures, published values and journals are equal each time, and equal in
// all languages. The package never builds a toolchain: modules of Go and TypeScript are built by the tests, the others
// are found in .cache/guests, where `make guests` puts them.
package conformance
