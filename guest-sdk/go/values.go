package reprise

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// RunInfo tells a guest which run it belongs to.
type RunInfo struct {
	Run      string `json:"run"`
	Tenant   string `json:"tenant"`
	Workflow string `json:"workflow"`
	Key      string `json:"key"`
	Module   string `json:"module"`
	Attempt  int    `json:"attempt"` // of an activity, from 1
}

// Info returns what the host says of the run.
func Info() RunInfo {
	var i RunInfo
	if err := json.Unmarshal(callInfo(), &i); err != nil {
		panic(fmt.Sprintf("reprise: the host's info is not what the contract says: %v", err))
	}
	return i
}

// Now is the run's time: that of the last outcome it saw. time.Now gives the same.
func Now() time.Time { return time.Unix(0, callNow()).UTC() }

// Sleep waits for d, however long; the host may be restarted meanwhile. It returns ctx.Err() when ctx
// is done first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Random fills b from a generator that gives a run the same bytes in every replay. Not for secrets.
// math/rand and crypto/rand are seeded from the same source.
func Random(b []byte) {
	const maxCall = 64 << 10 // bytes a call, the contract's limit
	for len(b) > 0 {
		n := min(len(b), maxCall)
		callRandom(b[:n])
		b = b[n:]
	}
}

// Publish sets a value that readers of the run see, as JSON. The last value of a key wins.
func Publish(key string, v any) error {
	if key == "" {
		return fmt.Errorf("publish: the key is empty")
	}
	b, err := encode(v)
	if err != nil {
		return fmt.Errorf("publish %s: %w", key, err)
	}
	callPublish(key, b)
	return nil
}

// Asset returns the module's custom section reprise.asset.NAME; ok is false when there is none.
func Asset(name string) (b []byte, ok bool) {
	if name == "" {
		return nil, false
	}
	return callAsset(name)
}
