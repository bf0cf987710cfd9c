//go:build !wasip1

package reprise

import (
	"fmt"
	"os"
)

// Main ends the program with an explanation: this build is not a module.
func Main() {
	fmt.Fprintln(os.Stderr, "reprise: this program is a workflow module; "+howToBuild)
	os.Exit(2)
}

const howToBuild = "build it with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared and push the result to a host"

// outside is what every request does in a program that is not a module.
func outside() { panic("reprise: called outside a module; " + howToBuild) }

func openCompletions() *os.File                 { outside(); return nil }
func callEntryKind() int32                      { outside(); return 0 }
func callEntry() string                         { outside(); return "" }
func callInfo() []byte                          { outside(); return nil }
func callInput() []byte                         { outside(); return nil }
func callOutput([]byte)                         { outside() }
func callFail([]byte)                           { outside() }
func callEffect(string, []byte, []byte) int32   { outside(); return 0 }
func callActivity(string, []byte, []byte) int32 { outside(); return 0 }
func callChild(string, []byte, []byte) int32    { outside(); return 0 }
func callContinueAsNew([]byte)                  { outside() }
func callSignal(string) int32                   { outside(); return 0 }
func callStatus(int32) int32                    { outside(); return 0 }
func callResult(int32) []byte                   { outside(); return nil }
func callCancel(int32)                          { outside() }
func callDrop(int32)                            { outside() }
func callCancelHandle() int32                   { outside(); return 0 }
func callNow() int64                            { outside(); return 0 }
func callRandom([]byte)                         { outside() }
func callAsset(string) ([]byte, bool)           { outside(); return nil, false }
func callLog(int32, string)                     { outside() }
func callPublish(string, []byte)                { outside() }
