package exec

import (
	"context"
	"log/slog"
	"time"

	"reprise/abi"
)

// burstSeconds is how many seconds of its rate a quiet guest may write at once.
const burstSeconds = 4

// guestLog writes a guest's lines to the host's log, no more bytes a second than rate. It is the host's own
// affair: what is left out decides nothing that the guest sees, and time is the host's. One goroutine uses it.
type guestLog struct {
	log      *slog.Logger
	rate     float64 // bytes a second; 0 for any number
	burst    float64
	left     float64 // bytes that may be written now
	at       time.Time
	dropping bool
	dropped  int64
}

// newGuestLog makes a log with a full burst, of which half has room for the longest line.
func newGuestLog(log *slog.Logger, rate int64) *guestLog {
	burst := max(burstSeconds*float64(rate), 2*(abi.MaxLogLine+64))
	return &guestLog{log: log, rate: float64(rate), burst: burst, left: burst, at: time.Now()}
}

var guestLevels = map[int32]slog.Level{abi.LogDebug: slog.LevelDebug, abi.LogInfo: slog.LevelInfo, abi.LogWarn: slog.LevelWarn, abi.LogError: slog.LevelError}

// write takes one line.
func (g *guestLog) write(level int32, source, line string) {
	if g.rate > 0 && !g.room(float64(len(line)+1)) {
		if g.dropped++; g.dropped == 1 {
			g.log.Warn("the guest writes too much to its log; lines are dropped", "bytes_per_second", int64(g.rate))
		}
		return
	}
	g.tell()
	g.log.Log(context.Background(), guestLevels[level], line, "guest", true, "source", source)
}

// room takes n bytes from what may be written. Once lines are dropped, they are until half a burst is there again,
// so that saying so costs little beside what is written.
func (g *guestLog) room(n float64) bool {
	now := time.Now()
	g.left = min(g.burst, g.left+g.rate*now.Sub(g.at).Seconds())
	g.at = now
	if g.dropping = g.left < n || g.dropping && g.left < g.burst/2; g.dropping {
		return false
	}
	g.left -= n
	return true
}

// tell says how many lines were dropped since it was said last.
func (g *guestLog) tell() {
	if g.dropped > 0 {
		g.log.Warn("log lines of the guest were dropped", "lines", g.dropped)
		g.dropped = 0
	}
}
