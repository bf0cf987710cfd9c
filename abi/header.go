package abi

import _ "embed"

// Header is abi.h, for programs in C and C++.
//
//go:embed abi.h
var Header []byte
