package sandbox

import (
	"math"
	"os"
	"strconv"
	"strings"

	"reprise/modules"
)

// leastMemory lets one instance of the largest size live.
const leastMemory = modules.MaxMemoryPages*pageBytes + overhead

// unknownMemory is taken for a machine that does not say what it has.
const unknownMemory = 4 << 30

// machineMemory is what the machine has, or what this process's control group may have of it.
func machineMemory() int64 {
	total := int64(math.MaxInt64)
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 && f[0] == "MemTotal:" {
			if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				total = kb << 10
			}
		}
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(file); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
				total = min(total, n)
			}
		}
	}
	if total == math.MaxInt64 {
		return unknownMemory
	}
	return total
}
