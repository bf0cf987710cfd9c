package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"reprise/abi"
	"reprise/host/api/wire"
)

// version is this program's version. The Makefile sets it with -ldflags -X.
var version = "0.1.0"

func (p *program) versionCommand() *cli.Command {
	c := &cli.Command{Name: "version", Usage: "print this program's version", Flags: outputFlags()}
	c.Action = func(ctx *cli.Context) error {
		pr, err := p.printer(ctx)
		if err != nil {
			return err
		}
		v := ownVersion()
		return pr.print(v, func(w io.Writer) {
			fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("reprise %s abi %d %s %s", v.Version, v.ABI, v.Go, v.Commit)))
		})
	}
	return leaf(c)
}

func ownVersion() wire.Version {
	return wire.Version{Version: version, Commit: commit(), ABI: abi.Version, Go: runtime.Version(), Time: wire.Time(time.Now())}
}

// commit is the revision that the program was built from, "" when it was not built in a checkout.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
