package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// GCPercent is what every system's process has, so that none wins by its garbage.
const GCPercent = 400

// Options are the flags that a system's program is started with.
type Options struct {
	DSN      string // -dsn: a Postgres database, empty
	SQLite   string // -sqlite: a file that is not there yet; then DSN is empty
	InFlight int    // -in-flight: the most workflows at a time that will be asked for
	Dir      string // -dir: an empty folder for what else a system keeps
	Server   string // -server: the program of a server that the system needs
	Guest    string // -guest: the module of a system whose workflows are modules
	Variant  string // -variant: one of the system's ways, by a name that it knows
}

func parse(args []string) (o Options, err error) {
	flags := flag.NewFlagSet("system", flag.ContinueOnError)
	flags.StringVar(&o.DSN, "dsn", "", "Postgres database")
	flags.StringVar(&o.SQLite, "sqlite", "", "SQLite file")
	flags.IntVar(&o.InFlight, "in-flight", 1, "most workflows at a time")
	flags.StringVar(&o.Dir, "dir", "", "folder of the system's own")
	flags.StringVar(&o.Server, "server", "", "server's program")
	flags.StringVar(&o.Guest, "guest", "", "module")
	flags.StringVar(&o.Variant, "variant", "", "way of the system")
	return o, flags.Parse(args)
}

// Args are the flags for these options.
func (o Options) Args() []string {
	return []string{"-dsn", o.DSN, "-sqlite", o.SQLite, "-in-flight", fmt.Sprint(o.InFlight), "-dir", o.Dir, "-server", o.Server, "-guest", o.Guest, "-variant", o.Variant}
}

// Hello is the first line that a system's program prints.
type Hello struct {
	System   string `json:"system,omitempty"`
	Version  string `json:"version,omitempty"`
	Settings string `json:"settings,omitempty"` // in words: what is not the default
	// Error says why the system cannot be measured.
	Error string `json:"error,omitempty"`
}

// Reply is the line that answers a Cell.
type Reply struct {
	Result
	Error string `json:"error,omitempty"`
}

// Open starts a system.
type Open func(ctx context.Context, o Options) (System, Hello, error)

// Main is the main function of a system's program: it starts the system, says Hello, and answers a line that is a Cell by one
// that is a Reply until its input ends. What libraries print to stdout goes to stderr. args are without the program's name.
func Main(args []string, open Open) {
	out := os.Stdout
	os.Stdout = os.Stderr
	debug.SetGCPercent(GCPercent)
	o, err := parse(args)
	if err != nil {
		os.Exit(2)
	}
	if err := Serve(context.Background(), o, os.Stdin, out, open); err != nil {
		fmt.Fprintln(os.Stderr, "system:", err)
		os.Exit(1)
	}
}

// Serve is Main without a process.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer, open Open) error {
	replies := json.NewEncoder(out)
	s, hello, err := open(ctx, o)
	if err != nil {
		hello.Error = err.Error()
		return errors.Join(err, replies.Encode(hello))
	}
	err = replies.Encode(hello)
	for lines := bufio.NewScanner(in); err == nil && lines.Scan(); {
		err = replies.Encode(answer(ctx, s, lines.Bytes()))
	}
	return errors.Join(err, s.Close())
}

func answer(ctx context.Context, s System, line []byte) (reply Reply) {
	var c Cell
	err := json.Unmarshal(line, &c)
	if err == nil {
		reply.Result, err = Measure(ctx, s, c)
	}
	if err != nil {
		reply.Error = err.Error()
	}
	return reply
}
