package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"reprise/abi"
	"reprise/host"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// settings is what a node is told by its flags.
type settings struct {
	mode      string // dev or serve
	journal   string // what openJournal understands
	http      string
	addrFile  string
	watch     string
	allow     []string
	logLevel  slog.Level
	tokens    tenant.Tokens
	tokenHint string // how clients prove themselves, for people
	host      host.Config
}

// nodeFlags are the flags that dev and serve share; nodeName is the default of --node.
func nodeFlags(nodeName string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "http", Value: "127.0.0.1:7070", Usage: "address to serve the API on; port 0 takes a free one", EnvVars: []string{"REPRISE_HTTP"}},
		&cli.StringFlag{Name: "addr-file", Usage: "write the address that is served to this file", EnvVars: []string{"REPRISE_ADDR_FILE"}},
		&cli.StringFlag{Name: "watch", Usage: "push every .wasm file that appears or changes in this folder", EnvVars: []string{"REPRISE_WATCH"}},
		&cli.StringSliceFlag{Name: "allow-host", Usage: "let guests send HTTP requests to HOST[:PORT]; may be repeated; none are allowed otherwise", EnvVars: []string{"REPRISE_ALLOW_HOST"}},
		&cli.StringFlag{Name: "node", Value: nodeName, Usage: "the node's name, the same after a restart and different from other live nodes'", EnvVars: []string{"REPRISE_NODE"}},
		&cli.StringFlag{Name: "cache-dir", Usage: "keep compiled modules here between restarts", EnvVars: []string{"REPRISE_CACHE_DIR"}},
		&cli.DurationFlag{Name: "lease-ttl", Value: 15 * time.Second, Usage: "how long a dead node keeps its runs", EnvVars: []string{"REPRISE_LEASE_TTL"}},
		&cli.DurationFlag{Name: "poll", Value: time.Second, Usage: "how often the journal is asked for due work when no hint comes", EnvVars: []string{"REPRISE_POLL"}},
		&cli.IntFlag{Name: "max-running", Value: 1024, Usage: "runs that this node owns at once", EnvVars: []string{"REPRISE_MAX_RUNNING"}},
		&cli.IntFlag{Name: "max-running-per-tenant", Usage: "how many of those may be of one tenant; by default three quarters", EnvVars: []string{"REPRISE_MAX_RUNNING_PER_TENANT"}},
		&cli.StringFlag{Name: "memory", Usage: "what all guests may take together: a number of bytes, or of KiB, MiB or GiB, such as 4GiB; by default half of what there is", EnvVars: []string{"REPRISE_MEMORY"}},
		&cli.StringSliceFlag{Name: "limit", Usage: "bound each run that begins here: NAME=N, with a name and at most the value of docs/ABI.md; may be repeated", EnvVars: []string{"REPRISE_LIMIT"}},
		&cli.Int64Flag{Name: "log-rate", Value: 64 << 10, Usage: "bytes of log lines that one run may write a second; -1 for any number", EnvVars: []string{"REPRISE_LOG_RATE"}},
		&cli.Int64Flag{Name: "checkpoint-every", Value: 100, Usage: "entries that a run goes on before it is written as a checkpoint when it is suspended; -1 for never", EnvVars: []string{"REPRISE_CHECKPOINT_EVERY"}},
		&cli.Int64Flag{Name: "checkpoint-verify", Value: 64, Usage: "replay beside one of so many runs that go on from a checkpoint, and compare; -1 for none", EnvVars: []string{"REPRISE_CHECKPOINT_VERIFY"}},
		&cli.DurationFlag{Name: "hold-for", Value: time.Second, Usage: "how long a run may wait for a timer in memory before it is suspended", EnvVars: []string{"REPRISE_HOLD_FOR"}},
		&cli.IntFlag{Name: "max-attempts", Value: 5, Usage: "block a run after that many turns in a row that ended with the death of their host", EnvVars: []string{"REPRISE_MAX_ATTEMPTS"}},
		&cli.StringSliceFlag{Name: "retain", Usage: "how long runs are kept after they ended, such as 30d or 12h; failed=90d for one end: completed, failed, cancelled; may be repeated; for ever otherwise", EnvVars: []string{"REPRISE_RETAIN"}},
		&cli.DurationFlag{Name: "prune-every", Value: time.Minute, Usage: "about how often what is not kept any longer is removed from the journal", EnvVars: []string{"REPRISE_PRUNE_EVERY"}},
		&cli.DurationFlag{Name: "drain-timeout", Value: 10 * time.Second, Usage: "how long effects in flight may take when the node stops", EnvVars: []string{"REPRISE_DRAIN_TIMEOUT"}},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "debug, info, warn or error", EnvVars: []string{"REPRISE_LOG_LEVEL"}},
		&cli.StringSliceFlag{Name: "interpret", Usage: "run the module of this digest by interpreter, slowly, and compile the others; may be repeated", EnvVars: []string{"REPRISE_INTERPRET"}},
		&cli.StringSliceFlag{Name: "trust-key", Usage: "take only modules signed by this key: ed25519:…, or a file of keys; may be repeated; see MODULES.md", EnvVars: []string{"REPRISE_TRUST_KEY"}},
		&cli.StringFlag{Name: "api-token-file", Usage: "accept the bearer tokens of this file: one token, or lines of tenant and token", EnvVars: []string{"REPRISE_API_TOKEN_FILE"}},
	}
}

// settingsOf reads the flags that dev and serve share.
func settingsOf(c *cli.Context) (settings, error) {
	usage := func(format string, args ...any) error {
		return &usageError{command: c.Command.HelpName, what: fmt.Sprintf(format, args...)}
	}
	s := settings{
		mode: c.Command.Name, http: c.String("http"), addrFile: c.String("addr-file"), watch: c.String("watch"),
		allow: c.StringSlice("allow-host"),
		host: host.Config{
			Name: c.String("node"), CacheDir: c.String("cache-dir"),
			LeaseTTL: c.Duration("lease-ttl"), Poll: c.Duration("poll"), MaxRunning: c.Int("max-running"), MaxRunningPerTenant: c.Int("max-running-per-tenant"),
			HoldFor: c.Duration("hold-for"), MaxAttempts: c.Int("max-attempts"), DrainTimeout: c.Duration("drain-timeout"),
			PruneEvery: c.Duration("prune-every"),
		},
	}
	if err := s.logLevel.UnmarshalText([]byte(c.String("log-level"))); err != nil {
		return s, usage("--log-level is %.40q, not debug, info, warn or error", c.String("log-level"))
	}
	if text := c.String("memory"); text != "" {
		var err error
		if s.host.Memory, err = parseBytes(text); err != nil {
			return s, usage("--memory %.40q: %s", text, err)
		}
	}
	for _, text := range c.StringSlice("limit") {
		if err := setLimit(&s.host.Limits, text); err != nil {
			return s, usage("--limit %.60q: %s", text, err)
		}
	}
	for _, one := range []bool{false, true} { // what is said of one end stands, in whatever order
		for _, text := range c.StringSlice("retain") {
			if strings.Contains(text, "=") != one {
				continue
			}
			if err := setRetention(&s.host.Retention, text); err != nil {
				return s, usage("--retain %.60q: %s", text, err)
			}
		}
	}
	for _, text := range c.StringSlice("interpret") {
		d, err := modules.ParseDigest(text)
		if err != nil {
			return s, usage("--interpret: %s", err)
		}
		s.host.Interpreted = append(s.host.Interpreted, d)
	}
	if s.host.LogRate = c.Int64("log-rate"); s.host.LogRate == 0 || s.host.LogRate < -1 {
		return s, usage("--log-rate is a number of bytes, or -1")
	}
	s.host.CheckpointEvery, s.host.CheckpointVerify = c.Int64("checkpoint-every"), c.Int64("checkpoint-verify")
	for _, n := range []int64{s.host.CheckpointEvery, s.host.CheckpointVerify} {
		if n == 0 || n < -1 {
			return s, usage("--checkpoint-every and --checkpoint-verify are at least 1, or -1")
		}
	}
	if s.host.PruneEvery <= 0 {
		return s, usage("--prune-every is longer than 0")
	}
	if s.host.LeaseTTL <= 0 || s.host.Poll <= 0 {
		return s, usage("--lease-ttl and --poll are longer than 0")
	}
	if s.host.MaxRunning < 1 || s.host.MaxAttempts < 1 {
		return s, usage("--max-running and --max-attempts are at least 1")
	}
	if s.host.MaxRunningPerTenant < 0 {
		return s, usage("--max-running-per-tenant is at least 1, or left out")
	}
	if s.host.HoldFor <= 0 || s.host.DrainTimeout <= 0 {
		return s, usage("--hold-for and --drain-timeout are longer than 0")
	}
	var err error
	if s.host.Trust, err = readTrust(c.StringSlice("trust-key")); err != nil {
		return s, err
	}
	path := c.String("api-token-file")
	if path == "" {
		return s, nil
	}
	s.tokens, err = readTokens(path)
	s.tokenHint = "from " + path
	return s, err
}

// setLimit takes NAME=N.
func setLimit(l *abi.Limits, text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("it is not NAME=N")
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return fmt.Errorf("%.40q is not a whole number", value)
	}
	return l.Set(name, n)
}

// setRetention takes a time, for every end, or END=time.
func setRetention(r *journal.Retention, text string) error {
	end, value, one := strings.Cut(text, "=")
	if !one {
		value = text
	}
	d, err := parseAge(value)
	if err != nil {
		return err
	}
	ends := map[string]*time.Duration{"completed": &r.Completed, "failed": &r.Failed, "cancelled": &r.Cancelled}
	if !one {
		for _, field := range ends {
			*field = d
		}
		return nil
	}
	field := ends[end]
	if field == nil {
		return fmt.Errorf("%.40q is not completed, failed or cancelled", end)
	}
	*field = d
	return nil
}

// parseAge reads a time above 0: in days, or as Go writes it.
func parseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		if err != nil || n <= 0 || n > int64(math.MaxInt64/day) {
			return 0, errors.New("it is not a number of days above 0, such as 30d")
		}
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("it is not a time above 0, such as 30d or 12h")
	}
	return d, nil
}

// parseBytes reads a number of bytes, above 0, with a unit or without.
func parseBytes(text string) (int64, error) {
	number, shift := text, 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			number, shift = n, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift {
		return 0, errors.New("it is not a number of bytes above 0, such as 512MiB")
	}
	return n << shift, nil
}
