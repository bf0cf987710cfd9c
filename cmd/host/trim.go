package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// keepCompiled bounds the folder of compiled modules that tests share, in bytes: those of some twenty programs in Go. Every change of
// a program is another module.
const keepCompiled = 256 << 20

// trim removes the oldest files below a folder until those that are left have at most limit bytes. What is missing is compiled
// again, so an error is nobody's trouble.
func trim(dir string, limit int64) {
	type file struct {
		path string
		size int64
		at   time.Time
	}
	var files []file
	total := int64(0)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files = append(files, file{path, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	slices.SortFunc(files, func(a, b file) int { return a.at.Compare(b.at) })
	for _, f := range files {
		if total <= limit {
			return
		}
		if os.Remove(f.path) == nil {
			total -= f.size
		}
	}
}
