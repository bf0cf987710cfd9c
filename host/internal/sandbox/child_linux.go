package sandbox

import (
	"os/exec"
	"syscall"
)

// limitProcess bounds this process before it looks at a byte of a tenant's.
func limitProcess(cpu uint64) error {
	limits := map[int]uint64{syscall.RLIMIT_CPU: cpu, syscall.RLIMIT_CORE: 0}
	if !raceDetector { // which reserves terabytes of address space
		limits[syscall.RLIMIT_AS] = childMemory
	}
	for resource, limit := range limits {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return syscall.Setpriority(syscall.PRIO_PROCESS, 0, childNice)
}

// dieWithParent ends the child when this process dies, so that no compiler outlives its host.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
