// Package usage reads from /proc how much processor time processes took. Program bench asks it about systems and the database server.
package usage

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// clock is the kernel's unit of time in /proc, which is 1/100 s on every Linux.
const clock = 100

// CPU is the time that processors gave, in seconds, to a process and all below it. Processes that have gone count by what their parents waited for.
func CPU(pid int) float64 {
	var cpu float64
	stats := processes()
	var add func(int)
	add = func(pid int) {
		s, ok := stats[pid]
		if !ok {
			return
		}
		cpu += s.cpu
		for child, of := range stats {
			if of.parent == pid {
				add(child)
			}
		}
	}
	add(pid)
	return cpu
}

type process struct {
	parent int
	cpu    float64
}

func processes() map[int]process {
	all := map[int]process{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if pid, p, err := parse(string(text)); err == nil {
			all[pid] = p
		}
	}
	return all
}

// parse reads a line of /proc/<pid>/stat: the second field is a name in brackets, which may hold anything.
func parse(line string) (pid int, p process, err error) {
	open, shut := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || shut < open {
		return 0, p, fmt.Errorf("process %.40q: no name", line)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(line[:open])); err != nil {
		return 0, p, fmt.Errorf("process %.40q: %w", line, err)
	}
	fields := strings.Fields(line[shut+1:]) // from the third on
	const parent, user, childSystem = 1, 11, 14
	if len(fields) <= childSystem {
		return 0, p, fmt.Errorf("process %d: %d fields", pid, len(fields))
	}
	if p.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return 0, p, fmt.Errorf("process %d: %w", pid, err)
	}
	for _, ticks := range fields[user : childSystem+1] {
		n, err := strconv.ParseInt(ticks, 10, 64)
		if err != nil {
			return 0, p, fmt.Errorf("process %d: %w", pid, err)
		}
		p.cpu += float64(n) / clock
	}
	return pid, p, nil
}
