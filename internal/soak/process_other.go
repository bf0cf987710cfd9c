//go:build !linux

package soak

import (
	"os/exec"
	"syscall"
)

// dieWithUs keeps an interrupt of the terminal from a process: how it ends is the soak's to say.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
