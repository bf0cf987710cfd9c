package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"reprise/host/api"
	"reprise/modules"
)

func (p *program) moduleSign() *cli.Command {
	c := &cli.Command{
		Name:  "sign",
		Usage: "sign a module, for hosts that take only signed ones",
		Description: "The signature is of the file's bytes and goes to FILE.sig, where a watched folder and module push --signature" +
			" find it. stdout: the name of the file that was written. See MODULES.md.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Usage: "file of the private key, which module keygen wrote", EnvVars: []string{"REPRISE_SIGN_KEY"}},
			&cli.StringFlag{Name: "name", Usage: "workflow name that the signature is for; any when absent"},
			&cli.StringFlag{Name: "expires", Value: "90d", Usage: "when the signature ends: 90d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z"},
			&cli.StringFlag{Name: "out", Usage: "write the signature to this file, - for stdout; FILE.sig when absent"},
		},
	}
	c.Action = func(ctx *cli.Context) error {
		usage := func(format string, args ...any) error {
			return &usageError{command: ctx.Command.HelpName, what: fmt.Sprintf(format, args...)}
		}
		if ctx.String("key") == "" {
			return usage("--key is missing: the file of a private key; reprise module keygen makes one")
		}
		now := time.Now()
		expires, err := expiryOf(ctx.String("expires"), now)
		if err != nil {
			return usage("--expires: %v", err)
		}
		file, out := ctx.Args().Get(0), ctx.String("out")
		switch {
		case out == "" && file == "-":
			return usage("a module from stdin needs --out")
		case out == "":
			out = file + ".sig"
		}
		key, err := readPrivateKey(ctx.String("key"))
		if err != nil {
			return err
		}
		wasm, err := readFile(p.stdin, file, api.MaxModule)
		if err != nil {
			return err
		}
		if len(wasm) > api.MaxModule {
			return fmt.Errorf("%s has more than %d bytes, which no host takes", file, api.MaxModule)
		}
		sig, err := modules.Sign(key, modules.Statement{Digest: modules.DigestOf(wasm), Name: ctx.String("name"), Expires: expires})
		if err != nil {
			return err
		}
		p.saySigned(sig, now)
		if out == "-" {
			_, err := fmt.Fprintln(p.stdout, sig)
			return err
		}
		if err := replaceFile(out, sig.String()+"\n", 0o644); err != nil {
			return fmt.Errorf("signature: %w", err)
		}
		fmt.Fprintln(p.stdout, clean(out))
		return nil
	}
	return leaf(c, "FILE")
}

func (p *program) saySigned(sig modules.Signature, now time.Time) {
	said := sig.Statement
	name := said.Name
	if name == "" {
		name = "any name"
	}
	fmt.Fprintf(p.stderr, "%s as %s until %s, signed by %s\n", said.Digest, name, said.Expires.Format(time.RFC3339), sig.Key)
	if !now.Before(said.Expires) {
		fmt.Fprintln(p.stderr, "the signature has expired already")
	}
}

// expiryOf reads a length of time from now, in which d is a day, or a point in time.
func expiryOf(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	const maxDays = 36_500
	lives, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		if n, err = strconv.ParseUint(days, 10, 32); err == nil && n > maxDays {
			return time.Time{}, fmt.Errorf("%s is more than %dd", text, maxDays)
		}
		lives = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || lives < time.Second {
		return time.Time{}, fmt.Errorf("%.40q is neither a length of time from 1s such as 90d or 12h, nor a date", text)
	}
	return now.Add(lives), nil
}

func (p *program) moduleKeygen() *cli.Command {
	c := &cli.Command{
		Name:        "keygen",
		Usage:       "make a key that signs modules",
		Description: "FILE gets the private key, readable by its owner only; it must not exist. stdout: the public key, for --trust-key.",
	}
	c.Action = func(ctx *cli.Context) error {
		file := ctx.Args().Get(0)
		public, err := makeKey(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stderr, "the private key is in %s; give the public one to hosts\n", clean(file))
		fmt.Fprintln(p.stdout, public)
		return nil
	}
	return leaf(c, "FILE")
}

// readSignatures reads a file of signatures.
func readSignatures(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	sigs, err := modules.ParseSignatures(string(b))
	var refused *modules.RefusedError
	if errors.As(err, &refused) {
		refused.Where = "signature file " + path
	}
	if err != nil {
		return nil, err
	}
	if len(sigs) == 0 {
		return nil, fmt.Errorf("signature file %s: there is no signature in it", path)
	}
	texts := make([]string, len(sigs))
	for i, s := range sigs {
		texts[i] = s.String()
	}
	return texts, nil
}
