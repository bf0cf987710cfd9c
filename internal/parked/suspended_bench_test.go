package parked

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise/internal/pgtest"
	"reprise/journal"
)

// suspendedDocEnv names the folder of the page that BenchmarkSuspended rewrites. Unset: it only prints.
const suspendedDocEnv = "REPRISE_BENCH_SUSPENDED_DOCS"

// suspendedRunsEnv is how many runs there are instead of a million.
const suspendedRunsEnv = "REPRISE_BENCH_SUSPENDED_RUNS"

// woken is how many runs are woken at once.
const woken = 1000

// mostBytes is what a run that waits may take of the database, beside its input and a checkpoint of a large guest.
const mostBytes = 2048

// suspendedFigure is one result, a line of JSON.
type suspendedFigure struct {
	Section string   `json:"section"`
	Row     string   `json:"row"`
	Name    string   `json:"figure"`
	Value   float64  `json:"value"`
	Unit    string   `json:"unit"`
	Reps    int      `json:"reps"`
	Target  *float64 `json:"target"`
	Holds   *bool    `json:"holds"`
}

// BenchmarkSuspended has a million runs wait in Postgres, and says what they take of the database and of the host, and how long a
// thousand of them take to their end that are woken at once. Rows are copies of one run's, as TestFilledRunsAreLikeRealOnes
// compares them, but those that are woken from checkpoints: a checkpoint is of use to its own run only.
func BenchmarkSuspended(b *testing.B) {
	runs := 1_000_000
	if s := os.Getenv(suspendedRunsEnv); s != "" {
		var err error
		if runs, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		var figures []suspendedFigure
		for _, v := range []struct {
			guest parkable
			every int64
			runs  int
		}{{goSignals, -1, runs}, {smallSignal, 1, runs}, {goSignals, 1, runs / 20}} {
			// A server for each: what one has written is not in the other's way. A million inserts in a row want a larger log than 1 GB.
			server := pgtest.Start(b, pgtest.Options{Durable: true, Settings: []string{"max_wal_size = 4GB"}})
			s := &suspended{TB: b, dsn: server.DSN("postgres"), guest: v.guest, every: v.every}
			figures = append(figures, s.measure(v.runs)...)
			server.Stop(b, pgtest.Immediate)
		}
		enc := json.NewEncoder(os.Stdout)
		for _, f := range figures {
			if err := enc.Encode(f); err != nil {
				b.Fatal(err)
			}
		}
		if dir := os.Getenv(suspendedDocEnv); dir != "" {
			if err := writeSuspended(filepath.Join(dir, "PERFORMANCE.md"), figures); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(0, "ns/op")
	}
}

func (b *suspended) measure(runs int) (figures []suspendedFigure) {
	row := fmt.Sprintf("%s, %d runs, no checkpoints", b.guest.name, runs)
	if b.every > 0 {
		row = fmt.Sprintf("%s, %d runs, each with its checkpoint", b.guest.name, runs)
	}
	add := func(name string, value float64, unit string, most float64) {
		f := suspendedFigure{Section: "suspended", Row: row, Name: name, Value: value, Unit: unit, Reps: 1}
		if most > 0 {
			holds := value <= most
			f.Target, f.Holds = &most, &holds
		}
		figures = append(figures, f)
	}
	b.open()
	pair := b.suspend(2)
	like, first := pair[0], pair[1]
	b.close() // the host that is measured is another
	before, _ := b.sizes()
	b.open()
	var ids []journal.RunID
	if b.every > 0 {
		ids = b.suspend(woken)
	}
	b.close()
	p := start(b.TB, roleServe, b.dsn, 0)
	p.hears("settled")
	b.store, _ = open(b.ctx, b.dsn, 0)
	b.wake([]journal.RunID{first}) // it has the module now
	idle, _ := p.resident()

	begin := time.Now()
	const chunk = 50_000
	for made := len(ids); made < runs; made += chunk {
		n := min(chunk, runs-made)
		if got := b.ask(fillSQL(b.ask, like, n)); got != strconv.Itoa(n) {
			b.Fatalf("got %s rows, want %d", got, n)
		}
	}
	b.Logf("%s: filled in %s", row, time.Since(begin).Round(time.Millisecond))
	pgtest.Exec(b, b.dsn, `ANALYZE`) // as autovacuum would by then
	after, tables := b.sizes()
	b.Logf("%s: %s", row, tables)
	bytes := float64(after-before) / float64(runs)
	most := float64(mostBytes)
	if b.every > 0 && b.guest.name == "Go" {
		most = 0
	}
	add("bytes of the database a run", bytes, "B", most)
	if b.every > 0 {
		packed, err := strconv.ParseFloat(b.ask(`SELECT avg(octet_length(packed)) FROM reprise.checkpoints`), 64)
		b.must(err)
		add("of them its checkpoint", packed, "B", 0)
	}
	time.Sleep(5 * time.Second) // the host polls meanwhile
	full, _ := p.resident()
	add("memory of the host, none waiting", float64(idle), "MiB", 0)
	add("memory of the host, all waiting", float64(full), "MiB", float64(idle)+16)
	if ids == nil {
		ids = b.some(woken)
	}
	took := b.wake(ids)
	add(fmt.Sprintf("%d woken at once, to the end of the last", woken), float64(took.Milliseconds()), "ms", 0)
	median, err := strconv.ParseFloat(b.ask(`SELECT 1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM r.finished_at - i.at)::float8)
		FROM reprise.runs r JOIN reprise.inbox i ON i.tenant = r.tenant AND i.run = r.no
		WHERE r.finished_at IS NOT NULL AND i.kind = 'signal' AND i.name = '`+b.guest.last+`'`), 64)
	b.must(err)
	add("of them from a run's signal to its end, median", median, "ms", 0)
	_, peak := p.resident()
	add("memory of the host, at most", float64(peak), "MiB", 0)
	p.kill()
	b.must(b.store.Close())
	return figures
}

// The marks of the part of PERFORMANCE.md that is generated.
const (
	suspendedBegin = "<!-- begin: make bench-suspended -->"
	suspendedEnd   = "<!-- end: make bench-suspended -->"
)

func writeSuspended(page string, figures []suspendedFigure) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(suspendedBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(suspendedEnd))
	if !ok || !ok2 {
		return errors.New(page + " does not have the marks of the generated part")
	}
	var s strings.Builder
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Fprintf(&s, "Measured %s on %d processors; load average at the end %s.\n\n| runs | figure | value | target |\n| --- | --- | --- | --- |\n",
		time.Now().UTC().Format("2006-01-02 15:04 MST"), runtime.NumCPU(), bytes.Join(bytes.Fields(load)[:min(3, len(bytes.Fields(load)))], []byte(" ")))
	for _, f := range figures {
		target := ""
		if f.Target != nil {
			target = fmt.Sprintf("at most %.0f %s: ", *f.Target, f.Unit) + map[bool]string{true: "holds", false: "DOES NOT HOLD"}[*f.Holds]
		}
		fmt.Fprintf(&s, "| %s | %s | %.0f %s | %s |\n", f.Row, f.Name, f.Value, f.Unit, target)
	}
	return os.WriteFile(page, fmt.Appendf(nil, "%s%s\n\n%s\n%s%s", before, suspendedBegin, s.String(), suspendedEnd, after), 0o644)
}
