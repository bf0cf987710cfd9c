package api

// Code is one row of the table of errors.
type Code struct {
	Code   string
	Status int
	Title  string
	// Fix is what to do when the error itself does not say.
	Fix string
	// Retryable says that the same request may succeed later, unchanged.
	Retryable bool
}

// Codes lists every code that the API answers with, by the part of the host that finds the error.
// docs/ERRORS.md is made from it.
var Codes = []Code{
	// Requests.
	{Code: "invalid_json", Status: 400, Title: "The body is not the JSON object that is expected", Fix: "send one JSON object in UTF-8, each field once"},
	{Code: "unknown_field", Status: 400, Title: "The body has a field that is not known", Fix: "remove or rename the field; names are case-sensitive"},
	{Code: "missing_field", Status: 400, Title: "The body lacks a field", Fix: "add the field"},
	{Code: "invalid_field", Status: 400, Title: "A field of the body has a value of the wrong type or form", Fix: "see /openapi.json for what the field takes"},
	{Code: "invalid_name", Status: 400, Title: "A name, key, id or reason is not acceptable text", Fix: "use at most 255 bytes of UTF-8 without control characters; workflow names are letters, digits, '.', '_' and '-'"},
	{Code: "invalid_run_id", Status: 400, Title: "This is not a run id", Fix: "a run id is run_ and 32 hex digits; run list shows the ids"},
	{Code: "invalid_digest", Status: 400, Title: "This is not a digest", Fix: "a digest is sha256: and 64 lower-case hex digits"},
	{Code: "invalid_parameter", Status: 422, Title: "A parameter of the request is not acceptable", Fix: "see /openapi.json for the parameters of each path"},
	{Code: "unsupported_media_type", Status: 415, Title: "The body has the wrong content type", Fix: "set Content-Type as /openapi.json says"},
	{Code: "unsupported_encoding", Status: 415, Title: "The body is compressed", Fix: "send the body without Content-Encoding"},
	{Code: "body_too_large", Status: 413, Title: "The body is too large", Fix: "keep large data outside and pass a reference to it; see docs/API.md"},
	{Code: "payload_too_large", Status: 413, Title: "A payload is too large", Fix: "keep large data outside and pass a reference to it; see docs/API.md"},
	{Code: "body_timeout", Status: 408, Title: "The body did not arrive in time", Fix: "send it again over a faster line", Retryable: true},
	{Code: "body_unreadable", Status: 400, Title: "The body ended early", Fix: "send it again", Retryable: true},
	{Code: "unauthorized", Status: 401, Title: "The request proves no tenant", Fix: "send Authorization: Bearer and a token (reprise: --token or REPRISE_TOKEN)"},
	{Code: "cross_origin", Status: 403, Title: "A web page of another origin sent the request", Fix: "call the API from a program, or from a page of the same origin"},
	{Code: "foreign_host", Status: 403, Title: "The request names a host that is not this machine", Fix: "use 127.0.0.1 or localhost, or start the host with tokens"},
	{Code: "route_not_found", Status: 404, Title: "There is nothing at this path", Fix: "see /openapi.json for the paths"},
	{Code: "method_not_allowed", Status: 405, Title: "The path has no such method", Fix: "the Allow header lists the methods"},
	// Runs.
	{Code: "run_not_found", Status: 404, Title: "The tenant has no such run", Fix: "reprise run list shows the runs"},
	{Code: "run_key_taken", Status: 409, Title: "An open run has the same key", Fix: "use that run (run_id), wait for its end, or choose another key"},
	{Code: "idempotency_conflict", Status: 409, Title: "The Idempotency-Key was used for another request", Fix: "use a new key for a new request"},
	{Code: "unknown_entry", Status: 400, Title: "The module has no such workflow", Fix: "name one of those that reprise module show lists"},
	{Code: "unknown_state", Status: 400, Title: "There is no such state", Fix: "see docs/STATES.md"},
	{Code: "invalid_limit", Status: 400, Title: "A limit or a position is out of range", Fix: "use 1 to 1000, and positions from 0"},
	{Code: "invalid_cursor", Status: 400, Title: "The cursor is not one of this list", Fix: "start again without a cursor"},
	{Code: "run_ended", Status: 409, Title: "The run has ended", Fix: "start a new run"},
	{Code: "run_open", Status: 409, Title: "The run is open, and only a run that has ended can be deleted", Fix: "cancel it and wait for its end"},
	{Code: "run_not_held", Status: 409, Title: "The run is neither blocked nor paused", Fix: "nothing is left to resume"},
	{Code: "signal_conflict", Status: 409, Title: "The signal's id was used for another signal to the run", Fix: "use a new id for a new signal"},
	{Code: "signals_queued", Status: 429, Title: "Too many signals, or bytes of them, wait for the run", Fix: "send later, when the run has taken some", Retryable: true},
	{Code: "fork_position", Status: 409, Title: "A run cannot be forked at that entry", Fix: "name an entry that reprise run journal shows, before the run's end"},
	{Code: "query_unsupported", Status: 409, Title: "The run's module answers no queries", Fix: "see docs/QUERIES.md for what answers queries"},
	{Code: "query_failed", Status: 422, Title: "The module's query function failed", Fix: "failure says why"},
	{Code: "query_mismatch", Status: 409, Title: "The run's module does not fit its journal", Fix: "reprise run replay shows both sides"},
	{Code: "query_timeout", Status: 503, Title: "The node had no room, or no time, for a query", Fix: "ask again later, or another node", Retryable: true},
	{Code: "queries_queued", Status: 429, Title: "Too many queries of the tenant wait", Fix: "ask later", Retryable: true},
	{Code: "run_not_waiting", Status: 409, Title: "The run does not wait, so that no copy of it can be asked", Fix: "ask again in a moment", Retryable: true},
	{Code: "pipeline_changed", Status: 409, Title: "The run began on a host that prepares modules otherwise", Fix: "use a host of the version that it began on"},
	{Code: "payload_unreadable", Status: 500, Title: "A payload is damaged or missing in the journal's database", Fix: "restore it from a backup"},
	// Results.
	{Code: "run_failed", Status: 409, Title: "The run has failed and has no output", Fix: "reprise run journal shows how it came to that"},
	{Code: "run_cancelled", Status: 409, Title: "The run was cancelled and has no output"},
	{Code: "run_terminated", Status: 409, Title: "The run was terminated and has no output"},
	{Code: "run_timed_out", Status: 409, Title: "The run has timed out and has no output"},
	{Code: "run_continued", Status: 409, Title: "The run was continued by a successor and has no output of its own"},
	{Code: "run_blocked", Status: 409, Title: "The run is blocked and goes on only when an operator acts", Fix: "mend the cause and resume the run, or cancel it"},
	{Code: "run_paused", Status: 409, Title: "The run is paused", Fix: "resume the run"},
	// Modules.
	{Code: "module_not_found", Status: 404, Title: "The tenant has no such workflow or module", Fix: "push it; reprise module list shows what is there"},
	{Code: "digest_mismatch", Status: 409, Title: "The bytes have another digest than was expected", Fix: "send the file that the digest was made from"},
	{Code: "signature_missing", Status: 403, Title: "The module is not signed, and the tenant's must be", Fix: "sign it with reprise module sign, and push it with --signature; see docs/MODULES.md"},
	{Code: "signature_untrusted", Status: 403, Title: "The module is signed by a key that is not trusted", Fix: "sign it with a key that the host was given by --trust-key"},
	{Code: "signature_mismatch", Status: 403, Title: "The signature is of another module or workflow, or was changed", Fix: "sign the file that is pushed, for the name that it is pushed under"},
	{Code: "signature_expired", Status: 403, Title: "The signature has expired", Fix: "sign the module again with a later --expires"},
	{Code: "invalid_signature", Status: 400, Title: "This is not a signature of a module", Fix: "send what reprise module sign wrote, whole and unchanged"},
	{Code: "uploads_queued", Status: 429, Title: "Too many uploads of the tenant are under way", Fix: "push fewer modules at once, and this one again later", Retryable: true},
	{Code: "uploads_busy", Status: 503, Title: "The node has more uploads than it can take now", Fix: "push the module again later, or to another node", Retryable: true},
	{Code: "empty", Status: 400, Title: "The file is empty", Fix: "build the module again"},
	{Code: "not_wasm", Status: 400, Title: "The file is not WebAssembly", Fix: "push the .wasm file that the toolchain built"},
	{Code: "component", Status: 400, Title: "The file is a component, and the host runs core modules", Fix: "build a core module for WASI preview 1, without a componentize step"},
	{Code: "unsupported_version", Status: 400, Title: "The binary's version is not 1", Fix: "build for Wasm binary version 1"},
	{Code: "truncated", Status: 400, Title: "The file ends early", Fix: "build or copy the file again"},
	{Code: "malformed", Status: 400, Title: "The file is not well-formed", Fix: "build the module again with a current toolchain, and check it with wasm-validate"},
	{Code: "too_many", Status: 400, Title: "The module declares too many of something", Fix: "split the module or remove what it does not need"},
	{Code: "too_large", Status: 413, Title: "The module, or a part of it, is too large", Fix: "strip symbols and debug sections, and leave out what it does not use"},
	{Code: "too_much_memory", Status: 400, Title: "The module asks for too much memory at its start", Fix: "lower the initial memory"},
	{Code: "shared_memory", Status: 400, Title: "The module has shared memory, which needs threads", Fix: "build without threads"},
	{Code: "multi_memory", Status: 400, Title: "The module has several memories", Fix: "build without multi-memory"},
	{Code: "exceptions", Status: 400, Title: "The module uses exceptions", Fix: "build without Wasm exception handling"},
	{Code: "gc", Status: 400, Title: "The module uses garbage-collected types", Fix: "build for linear memory"},
	{Code: "simd", Status: 400, Title: "The module uses SIMD", Fix: "build without SIMD"},
	{Code: "extended_const", Status: 400, Title: "The module uses extended constant expressions", Fix: "build without extended-const"},
	{Code: "unsupported_feature", Status: 400, Title: "The module uses a feature that the host does not run", Fix: "build for WASI preview 1 with the toolchain's defaults"},
	{Code: "invalid_module", Status: 400, Title: "The module does not validate", Fix: "build it again with a current toolchain, and check it with wasm-validate"},
	{Code: "compile_limit", Status: 400, Title: "The module takes too long or too much memory to compile", Fix: "split its largest functions, or build it with fewer inlined calls"},
	{Code: "unknown_import", Status: 400, Title: "The module imports what the host does not give", Fix: "use an SDK of this host, and build for WASI preview 1; docs/ABI.md lists the functions"},
	{Code: "not_implemented", Status: 400, Title: "The module imports a function that is specified and not implemented", Fix: "do without it; docs/ABI.md says what is implemented"},
	{Code: "wrong_signature", Status: 400, Title: "The module imports a function with another type", Fix: "build against this version of the contract"},
	{Code: "no_entry", Status: 400, Title: "The module has no entry point", Fix: "export _start (a main) or reprise_run"},
	{Code: "wrong_entry", Status: 400, Title: "An entry point has another type", Fix: "give the export the type that docs/ABI.md says"},
	{Code: "wrong_export", Status: 400, Title: "An export that the host uses is of another kind", Fix: "see docs/ABI.md for the exports"},
	{Code: "no_memory", Status: 400, Title: "The module exports no memory, and imports functions that use it", Fix: "export the memory as memory"},
	{Code: "invalid_asset", Status: 400, Title: "An asset of the module is not acceptable", Fix: "see docs/ABI.md for assets"},
	{Code: "invalid_manifest", Status: 400, Title: "The module does not describe itself as the contract says", Fix: "write the manifest when entry_kind is 3, or nothing"},
	{Code: "module_corrupt", Status: 400, Title: "The stored bytes of the module are damaged", Fix: "push the module again"},
	// The host itself.
	{Code: "not_ready", Status: 503, Title: "The node takes no work", Fix: "send it to another node, or later", Retryable: true},
	{Code: "no_database", Status: 503, Title: "The journal's database does not answer", Fix: "see the host's log", Retryable: true},
	{Code: "interrupted", Status: 503, Title: "The request ended before its work did", Fix: "send it again with the same Idempotency-Key", Retryable: true},
	{Code: "internal", Status: 500, Title: "The host failed", Fix: "look for the request_id in the host's log"},
}
