#include "conformance.h"

#include <string.h>

int output_int(int64_t v) { return rp_output(rp_int(v)); }

int take_int(rp_bytes outcome, int64_t *v) {
	bool is = rp_to_int(outcome, v);
	rp_free(outcome);
	return is ? RP_OK : rp_fail("invalid_output", "not an integer");
}

int double_it(rp_bytes input) {
	int64_t v;
	return rp_to_int(input, &v) ? output_int(2 * v) : rp_fail("invalid_input", "not an integer");
}

int echo(rp_bytes input) { return rp_output(input); }

int repeat(rp_bytes input) {
	int64_t n;
	if (!rp_to_int(input, &n) || n < 0)
		return rp_fail("invalid_input", "not a count");
	rp_bytes text = {memset(rp_alloc((size_t)n), 'x', (size_t)n), (size_t)n};
	rp_json w = {0};
	rp_json_string(&w, text);
	return rp_output(rp_json_done(&w));
}

int length(rp_bytes input) {
	rp_bytes text;
	return rp_to_string(input, &text) ? output_int((int64_t)text.len) : rp_fail("invalid_input", "not a string");
}

int hang(rp_bytes input) {
	(void)input;
	int rc = rp_sleep(RP_HOUR);
	return rc ? rc : rp_output(rp_text("null"));
}

int decline(rp_bytes input) {
	rp_bytes message;
	if (!rp_to_string(input, &message))
		return rp_fail("invalid_input", "not a string");
	return rp_fail_with((rp_failure){
		.code = "declined",
		.message = message.data,
		.retryable = RP_NO_RETRY,
		.details = rp_text("{\"limit\":9}"),
	});
}

int flaky(rp_bytes input) {
	(void)input;
	int64_t attempt;
	if (!rp_to_int(rp_field(rp_info(), "attempt"), &attempt))
		return rp_fail("invalid_input", "no attempt");
	return attempt < 3 ? rp_fail("failed", "not yet") : output_int(attempt);
}
