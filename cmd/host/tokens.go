package main

import (
	"fmt"
	"os"
	"strings"

	"reprise/tenant"
)

// minToken is the shortest token that is taken: 16 characters, so that a password is not mistaken for one.
const minToken = 16

// readTokens reads a file of bearer tokens: each line is a token of tenant default, or a tenant and its
// token. Empty lines and lines that start with # are skipped. Others must not be able to read the file.
func readTokens(path string) (tenant.Tokens, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("token file %s: others can read it (mode %04o); chmod 600 it", path, mode)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	var tokens tenant.Tokens
	for i, line := range strings.Split(string(b), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) == 1 {
			words = []string{string(tenant.Default), words[0]}
		}
		t, err := tenant.ParseID(words[0])
		if err != nil || len(words) > 2 {
			return nil, fmt.Errorf("token file %s line %d: not a token, nor a tenant and a token", path, i+1)
		}
		if len(words[1]) < minToken {
			return nil, fmt.Errorf("token file %s line %d: the token has fewer than %d characters", path, i+1, minToken)
		}
		tokens = append(tokens, tenant.NewToken(t, words[1]))
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("token file %s: there is no token in it", path)
	}
	return tokens, nil
}
