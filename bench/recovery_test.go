package main

import (
	"slices"
	"testing"
)

func TestHistories(t *testing.T) {
	for _, c := range []struct {
		args  []string
		want  []int64
		fails bool
	}{
		{nil, []int64{1000, 10_000}, false},
		{[]string{"5", "70"}, []int64{5, 70}, false},
		{[]string{"0"}, nil, true},
		{[]string{"5", "many"}, nil, true},
		{[]string{"99999999999"}, nil, true},
	} {
		got, err := histories(c.args)
		if (err != nil) != c.fails || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %v, %v; want %v, an error: %t", c.args, got, err, c.want, c.fails)
		}
	}
}

// A name in progress that no system has would be left out without a word.
func TestProgressNamesSystems(t *testing.T) {
	for name := range progress {
		if !slices.ContainsFunc(everything, func(s system) bool { return s.name == name && s.store == postgres }) {
			t.Errorf("%q: no system on Postgres is named so", name)
		}
	}
}
