package soak

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill a process when this one is gone, whatever ended it, and keeps an interrupt of the
// terminal from it: how it ends is the soak's to say.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
