// Package reprise is the guest side of a durable workflow written in Go. A program registers
// workflows and activities by name and is compiled to one WebAssembly module:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags='-s -w' -o order.wasm
//
// A workflow is an ordinary function. The host journals the outcome of what it asks of the world, and
// after a crash runs it again up to where it was: goroutines, channels, select, maps, math/rand,
// time.Sleep, time.After and context deadlines behave the same each time and survive the death of the
// host, because a module sees neither the machine's clock nor its randomness. What a workflow must
// not do is keep state outside the module; it cannot, for there is no file, socket or variable of
// another run that it could reach.
//
//	func init() { reprise.Workflow("order-saga", OrderSaga) }
//
//	func OrderSaga(ctx context.Context, in Order) (Receipt, error) { ... }
//
//	func main() { reprise.Main() }
//
// The package owns the encoding of values, the futures of requests in flight and the one goroutine
// that completes them. It never decides what is retried, when a timer fires or what is granted: the
// host does. Outside a module (GOOS other than wasip1) everything compiles, registration works, and
// a request panics.
package reprise

// Version is the version of this SDK; a module's manifest carries it as "go/<version>".
const Version = "0.1.0"
