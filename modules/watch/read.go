package watch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// stamp is what tells a changed file without reading it. The time of the inode's last change cannot
// be set back by whoever restores an old modification time.
type stamp struct {
	size     int64
	modified int64 // nanoseconds since 1970
	inode    inode
}

func stampOf(fi os.FileInfo) stamp {
	return stamp{size: fi.Size(), modified: fi.ModTime().UnixNano(), inode: inodeOf(fi)}
}

// errChanged says that a file is not, or no longer, the one that was looked at.
var errChanged = errors.New("the file changed while it was read")

// read copies a file that looked like is. What is opened may be something else than what was looked at,
// so it is opened without following a link and without waiting for a pipe's writer, and looked at again
// before and after.
func read(root *os.Root, name string, is stamp) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return nil, errChanged
	}
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	defer f.Close()
	if err := unchanged(f, is); err != nil {
		return nil, err
	}
	// One byte more than there should be shows a file that grows.
	bytes, err := io.ReadAll(io.LimitReader(f, is.size+1))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if int64(len(bytes)) != is.size {
		return nil, errChanged
	}
	return bytes, unchanged(f, is)
}

func unchanged(f *os.File, is stamp) error {
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if !fi.Mode().IsRegular() || stampOf(fi) != is {
		return errChanged
	}
	return nil
}
