package abi

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Failure is the payload of a failed handle and of fail: one JSON object.
type Failure struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Retryable *bool           `json:"retryable,omitempty"`
	Details   json.RawMessage `json:"details,omitempty"`
}

// Codes that the host itself gives. A guest's own codes are free text of at most MaxName bytes.
const (
	CodeTrap          = "trap"              // the guest trapped: unreachable, out of bounds, division by zero
	CodeExit          = "exit"              // the guest ended with a status other than 0
	CodeNoOutput      = "no_output"         // a reactor's entry returned an error without calling fail
	CodeMisuse        = "abi_misuse"        // a call that the contract forbids
	CodeOutOfGas      = "out_of_gas"        // the guest computed for too long without waiting
	CodeCallDepth     = "call_depth"        // the guest's calls are nested too deep
	CodeChildDepth    = "child_depth"       // child runs are nested too deep
	CodeMemory        = "memory_limit"      // the module begins with more memory than the run may have
	CodeDeadlock      = "deadlock"          // the guest waits and nothing is pending that could wake it
	CodeCancelled     = "cancelled"         // the run was cancelled
	CodeTimeout       = "timeout"           // an attempt or a whole effect took too long
	CodePayloadLarge  = "payload_too_large" // a payload is over its limit
	CodeOptions       = "invalid_options"   // the options of a request are not what the contract says
	CodeTooMany       = "too_many_pending"  // a request while as many handles are pending as may be
	CodePendingLarge  = "pending_too_large" // a request, or an outcome, while the handles hold as many bytes as they may; drop some
	CodeUnknownEffect = "unknown_effect"    // no handler of that name, or not granted
	CodeUnknownModule = "unknown_module"    // the options of an activity or child name a module that is not there, or cannot be run
	CodeInternal      = "internal"          // the host failed; details are in its log, never in the payload
	CodeFailed        = "failed"            // the guest failed with a payload that is not a failure object
)

// NewFailure builds a failure with a formatted message.
func NewFailure(code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Terminal marks f as not worth another attempt and returns it.
func (f *Failure) Terminal() *Failure {
	no := false
	f.Retryable = &no
	return f
}

// Error makes a failure an error, so that handlers can return it.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Encode gives the failure's bytes. It never fails: what cannot be encoded is replaced.
func (f *Failure) Encode() []byte {
	b, err := json.Marshal(f)
	if err != nil {
		b, _ = json.Marshal(&Failure{Code: f.Code, Message: f.Message})
	}
	return b
}

// DecodeFailure reads the bytes that a guest gave to fail. Bytes that are not a failure object are
// kept as the message of a CodeFailed failure, so that nothing a guest says is lost.
func DecodeFailure(b []byte) *Failure {
	var f Failure
	if err := json.Unmarshal(b, &f); err != nil || f.Code == "" {
		msg := string(b)
		if !utf8.Valid(b) {
			msg = fmt.Sprintf("%q", b)
		}
		return &Failure{Code: CodeFailed, Message: msg}
	}
	return &f
}
