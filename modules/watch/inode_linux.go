package watch

import (
	"os"
	"syscall"
)

// inode identifies a file and its last change.
type inode struct {
	device, number uint64
	seconds, nanos int64
}

func inodeOf(fi os.FileInfo) inode {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{device: uint64(st.Dev), number: st.Ino, seconds: int64(st.Ctim.Sec), nanos: int64(st.Ctim.Nsec)}
}
