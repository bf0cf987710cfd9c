// Command plain is a WASI program that knows nothing of the host: its input is standard input, its
// result standard output, its log standard error. It sleeps between reading and answering.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "read:", err)
		os.Exit(1)
	}
	if string(in) == "fail" {
		fmt.Fprintln(os.Stderr, "asked to fail")
		os.Exit(3)
	}
	fmt.Fprintln(os.Stderr, "sleeping")
	time.Sleep(50 * time.Millisecond)
	fmt.Print(strings.ToUpper(string(in)))
}
