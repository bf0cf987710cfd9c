package abi

// ValType is a core Wasm value type.
type ValType byte

// The two types that the contract uses.
const (
	I32 ValType = 0x7f
	I64 ValType = 0x7e
)

// String is the type's name in Wasm text.
func (t ValType) String() string {
	if t == I64 {
		return "i64"
	}
	return "i32"
}

// Param is one parameter of a function.
type Param struct {
	Name string
	Type ValType
}

// Function is one row of the contract.
type Function struct {
	Name    string
	Family  string // heading in the docs
	Params  []Param
	Results []ValType
	// Blocking functions may suspend the run.
	Blocking bool
	// Implemented is false for a function that is specified and refused at upload.
	Implemented bool
	// Doc says what it does, Journals what it writes, Errors how it fails, Limits what bounds it.
	Doc, Journals, Errors, Limits string
}

// Find returns the row of a function.
func Find(name string) (Function, bool) {
	for _, f := range Functions {
		if f.Name == name {
			return f, true
		}
	}
	return Function{}, false
}

func i32s(names ...string) []Param {
	ps := make([]Param, len(names))
	for i, n := range names {
		ps[i] = Param{n, I32}
	}
	return ps
}

var (
	retI32  = []ValType{I32}
	pull    = "Traps when ptr..ptr+cap is outside memory."
	inBytes = "Traps when a (ptr, len) is outside memory or a name is empty or not UTF-8."
	nothing = "Nothing."
	started = "Nothing when called. Its completion is one entry, written when a wait makes it visible."
)

// Functions is the contract, version 1.
var Functions = []Function{
	{Name: "entry_kind", Family: "Entry", Results: retI32, Implemented: true,
		Doc:      "Why this instance runs: 0 workflow, 1 activity, 2 query, 3 describe. With 3 the guest writes its manifest with output and returns.",
		Journals: nothing, Errors: "None."},
	{Name: "entry", Family: "Entry", Params: i32s("ptr", "cap"), Results: retI32, Implemented: true,
		Doc:      "The name of the workflow, activity or query to run, possibly empty. Returns its full length in bytes; writes it only when cap is enough.",
		Journals: nothing, Errors: pull, Limits: "At most 255 bytes."},
	{Name: "info", Family: "Entry", Params: i32s("ptr", "cap"), Results: retI32, Implemented: true,
		Doc:      "A JSON object about the run: run, tenant, workflow, key, module, and for an activity attempt. Pulled like entry.",
		Journals: nothing, Errors: pull},
	{Name: "input", Family: "Entry", Params: i32s("ptr", "cap"), Results: retI32, Implemented: true,
		Doc:      "The input's bytes. Returns the full length; writes only when cap is enough, so a guest may ask with cap 0 first.",
		Journals: nothing, Errors: pull, Limits: "At most 2 MiB."},
	{Name: "output", Family: "Entry", Params: i32s("ptr", "len"), Implemented: true,
		Doc:      "Sets the result. The last call wins; it takes effect when the entry returns success.",
		Journals: "The terminal entry completed.", Errors: "Traps when the bytes are outside memory or over the limit.", Limits: "At most 2 MiB."},
	{Name: "fail", Family: "Entry", Params: i32s("ptr", "len"), Implemented: true,
		Doc:      "Sets the failure, a JSON object {code, message, retryable?, details?}; other bytes become the message of code failed. The run fails when the entry returns, whatever it returns.",
		Journals: "The terminal entry failed, or cancelled when the run's cancellation was delivered and code is cancelled.", Errors: "Traps when the bytes are outside memory or over the limit.", Limits: "At most 2 MiB."},
	{Name: "continue_as_new", Family: "Entry", Params: i32s("ptr", "len"), Implemented: true,
		Doc: "Ends this run when the entry returns success, and starts its successor with the given input: a run of the same workflow, key and parent with an empty journal, in the module that the workflow's name stands for then. " +
			"The last call wins, and an output does not count beside it. Signals that were not delivered go over to it, and so does a cancellation that was not seen.",
		Journals: "The terminal entry continued.", Errors: inBytes + " Traps in what is not a workflow.", Limits: "At most 2 MiB."},

	{Name: "effect", Family: "Requests", Params: i32s("name_ptr", "name_len", "in_ptr", "in_len", "opts_ptr", "opts_len"), Results: retI32, Implemented: true,
		Doc:      "Asks the host for an effect, for example http.request. Returns a handle at once; the effect leaves the host at the next wait, after every entry before it is durable.",
		Journals: started, Errors: inBytes + " A payload or option that breaks a limit gives a handle that has already failed.", Limits: "Name 255 bytes, payload 2 MiB, options 16 KiB, 2,000 handles pending, 64 MiB of requests and outcomes held."},
	{Name: "activity", Family: "Requests", Params: i32s("name_ptr", "name_len", "in_ptr", "in_len", "opts_ptr", "opts_len"), Results: retI32, Implemented: true,
		Doc:      "Runs an activity, guest code of this or another module, in a fresh instance, at least once, retried by the policy in the options.",
		Journals: started, Errors: inBytes + " A payload or option that breaks a limit gives a handle that has already failed.", Limits: "As effect."},
	{Name: "child", Family: "Requests", Params: i32s("name_ptr", "name_len", "in_ptr", "in_len", "opts_ptr", "opts_len"), Results: retI32, Implemented: true,
		Doc: "Starts a child run of the named workflow, of this or another module, exactly once. It is a run of its own, with its own journal and limits; the handle completes with its output or failure, when its last successor has ended. " +
			"Cancel and drop ask the child to end, and so does the end of this run, unless the options say abandon.",
		Journals: started, Errors: inBytes + " A payload or option that breaks a limit gives a handle that has already failed, and so does a request of an activity.", Limits: "As effect."},
	{Name: "timer", Family: "Requests", Params: []Param{{"nanoseconds", I64}}, Results: retI32, Implemented: true,
		Doc:      "A durable timer. It is due that long after the guest's current time and fires at or after that by the database's clock. Negative counts as 0; more than 100 years as 100 years.",
		Journals: started, Errors: "None.", Limits: "2,000 handles pending."},
	{Name: "signal", Family: "Requests", Params: i32s("name_ptr", "name_len"), Results: retI32, Implemented: true,
		Doc:      "Completes with the payload of the next signal of that name. Signals are delivered once, in order of arrival per name; those that came before the call count. One that the run's handles have no room for stays queued, and the handle fails with code pending_too_large.",
		Journals: started, Errors: inBytes, Limits: "Name 255 bytes, 2,000 handles pending."},
	{Name: "promise", Family: "Requests", Params: i32s("id_ptr", "id_len"), Results: retI32,
		Doc:      "Completes when somebody outside resolves or rejects the promise of that id.",
		Journals: started, Errors: inBytes, Limits: "Id 255 bytes."},

	{Name: "wait", Family: "Waiting", Params: []Param{{"handles_ptr", I32}, {"n", I32}, {"timeout_ns", I64}, {"ready_ptr", I32}, {"ready_cap", I32}}, Results: retI32, Blocking: true, Implemented: true,
		Doc: "The one blocking call. Handles that are already done return at once, all that fit. Otherwise it waits for the next completion among the handles, makes exactly that one visible and returns 1. " +
			"timeout_ns: negative waits without limit, 0 only looks, positive returns 0 when that time has passed. The run may be suspended here and resumed on another node.",
		Journals: "One entry for the completion that became visible; sleep when the timeout passed; look when a look found nothing.",
		Errors:   "Traps on a handle that was never given or was dropped, and on memory outside bounds. A wait that nothing can end fails the run with code deadlock.", Limits: "2,000 handles."},
	{Name: "status", Family: "Waiting", Params: i32s("handle"), Results: retI32, Implemented: true,
		Doc:      "What is visible of a handle: 0 pending, 1 ok, 2 failed, 3 cancelled, 4 timed out. It changes only inside wait, poll_oneoff and cancel.",
		Journals: nothing, Errors: "Traps on an unknown handle."},
	{Name: "result", Family: "Waiting", Params: i32s("handle", "ptr", "cap"), Results: retI32, Implemented: true,
		Doc:      "The outcome's bytes: the result when ok, a failure object otherwise. Pulled like input, any number of times until drop.",
		Journals: nothing, Errors: "Traps on an unknown or pending handle."},
	{Name: "cancel", Family: "Waiting", Params: i32s("handle"), Implemented: true,
		Doc:      "Gives up a pending handle: its status is cancelled at once, an effect in flight is told to stop and its outcome is ignored. A signal that has not been delivered stays queued. No effect on a handle that is done.",
		Journals: nothing, Errors: "Traps on an unknown handle and on handle 0."},
	{Name: "drop", Family: "Waiting", Params: i32s("handle"), Implemented: true,
		Doc:      "Frees a handle and the bytes of its outcome. A pending one is cancelled first.",
		Journals: nothing, Errors: "Traps on an unknown handle and on handle 0."},
	{Name: "cancel_handle", Family: "Waiting", Results: retI32, Implemented: true,
		Doc:      "The handle of the run's own cancellation, always 0, which can be waited for. Calling it says that the guest handles cancellation itself: the run then ends when the guest ends it. A guest that never calls it is ended by the host at its next wait.",
		Journals: "An entry cancel when it becomes visible.", Errors: "None."},

	{Name: "now", Family: "Values", Results: []ValType{I64}, Implemented: true,
		Doc:      "The guest's time in nanoseconds since 1970: that of the last entry it saw. It moves only at waits.",
		Journals: nothing, Errors: "None."},
	{Name: "random", Family: "Values", Params: i32s("ptr", "len"), Implemented: true,
		Doc:      "Fills memory from a generator seeded by the run's id: the same bytes in every replay. Not for secrets.",
		Journals: nothing, Errors: "Traps outside memory or over the limit.", Limits: "64 KiB a call."},
	{Name: "patched", Family: "Values", Params: i32s("id_ptr", "id_len"), Results: retI32,
		Doc:      "Marks a change of the code: 1 for runs that reach it new, 0 for those recorded before.",
		Journals: "An entry patched.", Errors: inBytes, Limits: "Id 255 bytes."},
	{Name: "asset", Family: "Values", Params: i32s("name_ptr", "name_len", "ptr", "cap"), Results: retI32, Implemented: true,
		Doc:      "The bytes of the module's custom section reprise.asset.NAME. Pulled like input; -1 when there is none.",
		Journals: nothing, Errors: inBytes},

	{Name: "log", Family: "Telling", Params: i32s("level", "ptr", "len"), Implemented: true,
		Doc:      "Writes a log line. Levels: 0 debug, 1 info, 2 warn, 3 error. Silent in replay.",
		Journals: nothing, Errors: "Traps outside memory.", Limits: "16 KiB a line; the rest is cut. 64 MiB a run; what comes after is not written."},
	{Name: "publish", Family: "Telling", Params: i32s("key_ptr", "key_len", "ptr", "len"), Implemented: true,
		Doc:      "Sets a value that readers of the run see, without touching the run. The last value of a key wins.",
		Journals: "No entry; the value is stored with the next entries.", Errors: inBytes, Limits: "Key 255 bytes, value 2 MiB, 1,000 keys a run, 16 MiB of keys and values."},
	{Name: "reply", Family: "Telling", Params: i32s("handle", "ptr", "len"),
		Doc:      "Answers an update.",
		Journals: "An entry replied.", Errors: inBytes, Limits: "2 MiB."},
}
