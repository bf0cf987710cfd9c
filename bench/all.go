package main

import "context"

type allFlags struct{}

func parseAll([]string) (allFlags, error)            { return allFlags{}, nil }
func (b *bench) all(context.Context, allFlags) error { return nil }
