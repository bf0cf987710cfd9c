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
	{Code: "invalid_text", Status: 400, Title: "A name, key or reason is not acceptable text", Fix: "use at most 255 bytes of UTF-8 without control characters"},
	{Code: "invalid_run_id", Status: 400, Title: "This is not a run id", Fix: "a run id is run_ and 32 hex digits; run list shows the ids"},
	{Code: "invalid_digest", Status: 400, Title: "This is not a digest", Fix: "a digest is sha256: and 64 lower-case hex digits"},
	{Code: "invalid_parameter", Status: 422, Title: "A parameter of the request is not acceptable", Fix: "see /openapi.json for the parameters of each path"},
	{Code: "unsupported_media_type", Status: 415, Title: "The body has the wrong content type", Fix: "set Content-Type as /openapi.json says"},
	{Code: "unsupported_encoding", Status: 415, Title: "The body is compressed", Fix: "send the body without Content-Encoding"},
	{Code: "body_too_large", Status: 413, Title: "The body is too large", Fix: "keep large data outside and pass a reference to it; see docs/LIMITS.md"},
	{Code: "payload_too_large", Status: 413, Title: "A payload is too large", Fix: "keep large data outside and pass a reference to it; see docs/LIMITS.md"},
	{Code: "body_timeout", Status: 408, Title: "The body did not arrive in time", Fix: "send it again over a faster line", Retryable: true},
	{Code: "body_unreadable", Status: 400, Title: "The body ended early", Fix: "send it again", Retryable: true},
	{Code: "unauthorized", Status: 401, Title: "The request proves no tenant", Fix: "send Authorization: Bearer and a token (reprise: --token or REPRISE_TOKEN)"},
	{Code: "cross_origin", Status: 403, Title: "A web page of another origin sent the request", Fix: "call the API from a program, or from a page of the same origin"},
	{Code: "foreign_host", Status: 403, Title: "The request names a host that is not this machine", Fix: "use 127.0.0.1 or localhost, or start the host with tokens"},
	{Code: "route_not_found", Status: 404, Title: "There is nothing at this path", Fix: "see /openapi.json for the paths"},
	{Code: "method_not_allowed", Status: 405, Title: "The path has no such method", Fix: "the Allow header lists the methods"},
	// Results.
	{Code: "run_failed", Status: 409, Title: "The run has failed and has no output", Fix: "the field failure says why; the journal shows how it came to that"},
	{Code: "run_cancelled", Status: 409, Title: "The run was cancelled and has no output"},
	{Code: "run_terminated", Status: 409, Title: "The run was terminated and has no output"},
	{Code: "run_timed_out", Status: 409, Title: "The run has timed out and has no output"},
	{Code: "run_continued", Status: 409, Title: "The run was continued by a successor and has no output of its own"},
	{Code: "run_blocked", Status: 409, Title: "The run is blocked and goes on only when an operator acts", Fix: "mend the cause and resume the run, or cancel it"},
	{Code: "run_paused", Status: 409, Title: "The run is paused", Fix: "resume the run"},
	// The host itself.
	{Code: "interrupted", Status: 503, Title: "The request ended before its work did", Fix: "send it again with the same Idempotency-Key", Retryable: true},
	{Code: "internal", Status: 500, Title: "The host failed", Fix: "look for the request_id in the host's log"},
}
