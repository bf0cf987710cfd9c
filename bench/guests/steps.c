// The benchmark's workflow in C: steps that do nothing, as effects of the host or as activities of this module. It returns
// what the last step returned.
#define REPRISE_IMPLEMENTATION
#include "reprise.h"

#define PAYLOAD "\"....5....|....5....|....5....|....5....|....5....|....5....|....5....|....5....|....5....|....5....|\""

static int step(rp_bytes input) {
	(void)input;
	return rp_output(rp_text(PAYLOAD));
}

static rp_handle begin(bool activity) {
	return activity ? rp_activity("step", rp_text("1"), NULL) : rp_effect("test.step", rp_text("1"), NULL);
}

static bool is_true(rp_bytes v) { return v.len == 4; }

static int steps(rp_bytes input) {
	int64_t n;
	if (!rp_to_int(rp_field(input, "steps"), &n) || n < 1)
		return rp_fail("invalid_input", "no steps");
	bool activity = is_true(rp_field(input, "activity")), parallel = is_true(rp_field(input, "parallel"));
	rp_handle *begun = rp_alloc((size_t)n * sizeof *begun);
	rp_bytes outcome = {0};
	for (int64_t i = 0; parallel && i < n; i++)
		begun[i] = begin(activity);
	for (int64_t i = 0; i < n; i++) {
		rp_free(outcome);
		int rc = rp_get(parallel ? begun[i] : begin(activity), &outcome);
		if (rc)
			return rc;
	}
	return rp_output(outcome);
}

RP_MODULE(RP_WORKFLOW("steps", steps), RP_ACTIVITY("step", step));
