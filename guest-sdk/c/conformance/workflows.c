#define REPRISE_IMPLEMENTATION
#include "conformance.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rp_options few_attempts = {.attempts = 5, .backoff_ms = 1};
static const rp_options two_hours = {.timeout_ms = 7200000};

int ask_double(int64_t v, int64_t *result) {
	rp_bytes outcome;
	int rc = rp_get(rp_activity("double", rp_int(v), NULL), &outcome);
	return rc ? rc : take_int(outcome, result);
}

static int64_t count(rp_bytes input) {
	int64_t n = 0;
	rp_to_int(input, &n);
	return n;
}

static int sequential(rp_bytes input) {
	int64_t v = 1;
	for (int64_t n = count(input); n > 0; n--) {
		int rc = ask_double(v, &v);
		if (rc)
			return rc;
	}
	return output_int(v);
}

static int parallel(rp_bytes input) {
	(void)input;
	rp_handle asked[3];
	for (int i = 0; i < 3; i++)
		asked[i] = rp_activity("double", rp_int(i + 1), NULL);
	int rc = rp_wait_all(asked, 3);
	rp_json w = {0};
	rp_json_array(&w);
	for (int i = 0; i < 3 && rc == RP_OK; i++) {
		rp_bytes outcome;
		rc = rp_get(asked[i], &outcome);
		if (rc == RP_OK) {
			rp_json_raw(&w, outcome);
			rp_free(outcome);
		}
	}
	rp_json_end_array(&w);
	return rc ? rc : rp_output(rp_json_done(&w));
}

static int race(rp_bytes input) {
	(void)input;
	rp_handle asked[2];
	asked[0] = rp_activity("hang", rp_text("null"), &two_hours);
	asked[1] = rp_timer(20 * RP_MILLISECOND);
	size_t first;
	int rc = rp_wait_any(asked, 2, -1, &first);
	if (rc)
		return rc;
	rp_give_up(asked[1 - first]);
	return rp_output(rp_text(first == 1 ? "\"timer\"" : "\"hang\""));
}

static int caught(rp_bytes input) {
	(void)input;
	rp_bytes outcome;
	int rc = rp_get(rp_activity("decline", rp_text("\"no money\""), &few_attempts), &outcome);
	if (rc != RP_FAILED)
		return rc;
	const rp_failure *why = rp_last_failure();
	rp_json w = {0};
	rp_json_object(&w);
	rp_json_key(&w, "code");
	rp_json_string(&w, rp_text(why->code));
	rp_json_key(&w, "message");
	rp_json_string(&w, rp_text(why->message));
	rp_json_key(&w, "details");
	rp_json_raw(&w, why->details);
	rp_json_end_object(&w);
	return rp_output(rp_json_done(&w));
}

static int ask_flaky(rp_bytes input) {
	(void)input;
	rp_bytes outcome;
	int rc = rp_get(rp_activity("flaky", rp_text("null"), &few_attempts), &outcome);
	return rc ? rc : rp_output(outcome);
}

static int timer(rp_bytes input) {
	(void)input;
	int64_t before = rp_now();
	int rc = rp_sleep(30 * RP_MILLISECOND);
	return rc ? rc : rp_output(rp_text(rp_now() - before >= 30 * RP_MILLISECOND ? "true" : "false"));
}

static int signals(rp_bytes input) {
	(void)input;
	rp_publish("stage", rp_text("\"waiting\""));
	rp_json w = {0};
	rp_json_array(&w);
	for (int i = 0; i < 2; i++) {
		rp_bytes payload;
		int rc = rp_get(rp_signal("go"), &payload);
		if (rc)
			return rc;
		rp_json_raw(&w, payload);
		rp_free(payload);
	}
	rp_json_end_array(&w);
	return rp_output(rp_json_done(&w));
}

static int child(rp_bytes input) {
	rp_bytes outcome;
	int rc = rp_get(rp_child("sequential", input, NULL), &outcome);
	if (rc)
		return rc;
	rp_json w = {0};
	rp_json_object(&w);
	rp_json_key(&w, "child");
	rp_json_raw(&w, outcome);
	rp_json_end_object(&w);
	return rp_output(rp_json_done(&w));
}

static int again(rp_bytes input) {
	int64_t n = count(input), doubled;
	if (n == 0)
		return rp_output(rp_text("\"done\""));
	int rc = ask_double(n, &doubled);
	return rc ? rc : rp_continue_as_new(rp_int(n - 1));
}

static int cleanup(rp_bytes input) {
	(void)input;
	int rc = rp_get(rp_signal("never"), NULL);
	if (rc != RP_CANCELLED)
		return rc;
	int64_t undone;
	int failed = ask_double(21, &undone);
	if (failed)
		return failed;
	rp_publish("undone", rp_int(undone));
	return rc;
}

static int large(rp_bytes input) {
	(void)input;
	rp_bytes text, n;
	int rc = rp_get(rp_activity("repeat", rp_int(1048576), NULL), &text);
	if (rc == RP_OK)
		rc = rp_get(rp_activity("length", text, NULL), &n);
	if (rc)
		return rc;
	rp_json w = {0};
	rp_json_object(&w);
	rp_json_key(&w, "length");
	rp_json_raw(&w, n);
	rp_json_end_object(&w);
	return rp_output(rp_json_done(&w));
}

static int numbers(rp_bytes input) {
	(void)input;
	rp_bytes outcome;
	int64_t big;
	int rc = rp_get(rp_activity("echo", rp_int(INT64_C(9007199254740993)), NULL), &outcome);
	if (rc == RP_OK)
		rc = take_int(outcome, &big);
	if (rc)
		return rc;
	volatile double zero = 0;
	double quotient = zero / zero;
	uint64_t bits;
	memcpy(&bits, &quotient, sizeof bits);
	char text[17];
	snprintf(text, sizeof text, "%016" PRIx64, bits);
	rp_json w = {0};
	rp_json_object(&w);
	rp_json_key(&w, "big");
	rp_json_int(&w, big);
	rp_json_key(&w, "nan");
	rp_json_string(&w, rp_text(text));
	rp_json_end_object(&w);
	return rp_output(rp_json_done(&w));
}

static int unicode(rp_bytes input) {
	(void)input;
	rp_json w = {0};
	rp_json_string(&w, rp_text("é 😀 日本 \"quoted\" \\ \n"));
	rp_bytes asked = rp_json_done(&w), outcome, text;
	int rc = rp_get(rp_activity("echo", asked, NULL), &outcome);
	rp_free(asked);
	if (rc)
		return rc;
	if (!rp_to_string(outcome, &text))
		return rp_fail("invalid_output", "not a string");
	rp_json_string(&w, text);
	return rp_output(rp_json_done(&w));
}

/* What it adds after the call keeps the compiler from making a loop of it. */
__attribute__((noinline)) static int64_t sum(int64_t n) {
	volatile int64_t here = n;
	return n == 0 ? 0 : here + sum(n - 1);
}

static int deep(rp_bytes input) { return output_int(sum(count(input))); }

static int overflow(rp_bytes input) {
	(void)input;
	return output_int(sum(-1));
}

static int hungry(rp_bytes input) {
	(void)input;
	void *volatile taken = NULL; /* a chain, since a compiler leaves out what nobody keeps */
	for (;;) {
		void **block = rp_alloc(1 << 20);
		*block = taken;
		taken = block;
	}
}

static int panics(rp_bytes input) {
	(void)input;
	int rc = rp_sleep(RP_MILLISECOND);
	if (rc)
		return rc;
	assert(!"boom");
	return RP_OK;
}

RP_MODULE(
	RP_WORKFLOW("sequential", sequential),
	RP_WORKFLOW("parallel", parallel),
	RP_WORKFLOW("race", race),
	RP_WORKFLOW("caught", caught),
	RP_WORKFLOW("flaky", ask_flaky),
	RP_WORKFLOW("timer", timer),
	RP_WORKFLOW("signal", signals),
	RP_WORKFLOW("child", child),
	RP_WORKFLOW("again", again),
	RP_WORKFLOW("cleanup", cleanup),
	RP_WORKFLOW("large", large),
	RP_WORKFLOW("numbers", numbers),
	RP_WORKFLOW("unicode", unicode),
	RP_WORKFLOW("deep", deep),
	RP_WORKFLOW("overflow", overflow),
	RP_WORKFLOW("hungry", hungry),
	RP_WORKFLOW("panics", panics),
	RP_ACTIVITY("double", double_it),
	RP_ACTIVITY("echo", echo),
	RP_ACTIVITY("repeat", repeat),
	RP_ACTIVITY("length", length),
	RP_ACTIVITY("hang", hang),
	RP_ACTIVITY("decline", decline),
	RP_ACTIVITY("flaky", flaky));
