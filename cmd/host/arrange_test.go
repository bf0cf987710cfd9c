package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

func TestArrange(t *testing.T) {
	tests := []struct{ in, want string }{
		{"run start hello -i x", "run start -i x -- hello"},
		{"run start -i x hello", "run start -i x -- hello"},
		{"run start hello --wait -i -", "run start --wait -i - -- hello"},
		{"run start hello --input=x --wait", "run start --input=x --wait -- hello"},
		{"run start hello -i --wait", "run start -i --wait -- hello"},
		{"run start -- --wait", "run start -- --wait"},
		{"run start hello -- -i x", "run start -- hello -i x"},
		{"run start hello --bogus x", "run start --bogus -- hello x"},
		{"run start hello -i", "run start -i -- hello"},
		{"module push -", "module push -- -"},
		{"help", "--help"},
		{"run help", "run --help"},
		{"help run start", "run start --help"},
		{"run --help start", "run start --help"},
		{"run start --help", "run start --help --"},
		{"-v", "version"},
		{"version", "version --"},
	}
	app := (&program{}).app()
	for _, tt := range tests {
		got, err := arrange(app, strings.Fields(tt.in))
		if diff := cmp.Diff(strings.Fields(tt.want), got); err != nil || diff != "" {
			t.Errorf("arrange(%q): %v (-want +got):\n%s", tt.in, err, diff)
		}
	}
	for _, in := range []string{"rnu", "run", "run strat", "-x", "run -x list", "failpoint"} {
		var usage *usageError
		if got, err := arrange(app, strings.Fields(in)); !errors.As(err, &usage) {
			t.Errorf("arrange(%q): got %q and %v, want a usage error", in, got, err)
		}
	}
	if _, err := arrange(app, nil); !errors.Is(err, errNoCommand) {
		t.Errorf("arrange of nothing: got %v, want errNoCommand", err)
	}
}

// TestFlagsAreConsistent looks at what no single command shows.
func TestFlagsAreConsistent(t *testing.T) {
	each((&program{}).app().Commands, "reprise", func(path string, c *cli.Command) {
		seen := map[string]bool{}
		for _, f := range c.Flags {
			for _, name := range f.Names() {
				if seen[name] {
					t.Errorf("%s has the flag %s twice", path, name)
				}
				seen[name] = true
			}
			d, ok := f.(cli.DocGenerationFlag)
			if !ok || d.GetUsage() == "" {
				t.Errorf("%s: the flag %s says nothing of itself", path, f.Names()[0])
				continue
			}
			for _, env := range d.GetEnvVars() {
				if !strings.HasPrefix(env, "REPRISE_") {
					t.Errorf("%s: the variable %s has no prefix REPRISE_", path, env)
				}
			}
		}
		if c.Usage == "" {
			t.Errorf("%s says nothing of itself", path)
		}
	})
}
