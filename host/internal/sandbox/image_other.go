//go:build !linux

package sandbox

func newBacking(im *image, _ bool) (backing, error) { return copied{im}, nil }
