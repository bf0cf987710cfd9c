/* Tests of reprise.h as a program of this machine, on the host of host.h. It says what failed and returns how much did. */
#define REPRISE_IMPLEMENTATION
#include "reprise.h"
#include "reprise_http.h"

#include <math.h>

#include "host.h"

/* ---- The module under test ---- */

static int answer(rp_bytes input) { return rp_output(input); }
static int refuse(rp_bytes input) { return rp_fail("no", input.data); }
static int cancelled(rp_bytes input) { (void)input; return rp_get(rp_signal("never"), NULL); }

RP_MODULE(RP_WORKFLOW("answer", answer), RP_WORKFLOW("refuse", refuse), RP_WORKFLOW("cancelled", cancelled), RP_ACTIVITY("work", answer), RP_QUERY("ask", answer));

/* ---- Tests ---- */

/* A new host, and an instance that was not told of a cancellation. */
#define NEW(...) (rp__told = false, fresh(__VA_ARGS__))

static void test_writing(void) {
	rp_json w = {0};
	rp_json_object(&w);
	rp_json_key(&w, "a\"");
	rp_json_int(&w, INT64_MIN);
	rp_json_key(&w, "b");
	rp_json_array(&w);
	rp_json_uint(&w, UINT64_MAX);
	rp_json_object(&w);
	rp_json_end_object(&w);
	rp_json_bool(&w, true);
	rp_json_null(&w);
	rp_json_double(&w, 0.1);
	rp_json_double(&w, 1.0 / 3);
	rp_json_double(&w, NAN);
	rp_json_raw(&w, rp_text(" [1]"));
	rp_json_end_array(&w);
	rp_json_end_object(&w);
	TEXT(rp_json_done(&w), "{\"a\\\"\":-9223372036854775808,\"b\":[18446744073709551615,{},true,null,0.1,0.33333333333333331,null, [1]]}");
	rp_json_string(&w, (rp_bytes){"\0\x1f\n\x7f/\\", 6});
	TEXT(rp_json_done(&w), "\"\\u0000\\u001f\\n\x7f/\\\\\"");
	static const char *const wrong[] = {"\xff", "\xc0", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98"};
	static const int runes[] = {1, 1, 3, 3, 4, 3}; /* one U+FFFD for each byte that is none */
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		rp_json_string(&w, rp_text(wrong[i]));
		NUMBER((long long)rp_json_done(&w).len, 2 + 3 * runes[i]);
	}
	TEXT(rp_int(-40), "-40");
}

static void test_reading(void) {
	rp_bytes json = rp_text(" { \"a\" : [1, \"x,]\" ,{}] , \"\\u0062\":-7 ,\"c\":\"\\ud83d\\ude00\\n\\ud800!\", \"c\":2 } ");
	NUMBER(rp_json_valid(json), true);
	TEXT(rp_field(json, "a"), "[1, \"x,]\" ,{}]");
	TEXT(rp_field(json, "b"), "-7");
	NUMBER((long long)rp_count(json), 4);
	NUMBER((long long)rp_count(rp_field(json, "a")), 3);
	TEXT(rp_item(rp_field(json, "a"), 1), "\"x,]\"");
	NUMBER(rp_item(rp_field(json, "a"), 3).data == NULL, true);
	NUMBER(rp_field(json, "d").data == NULL, true);
	NUMBER(rp_field(rp_text("[1]"), "d").data == NULL, true);
	rp_bytes text;
	NUMBER(rp_to_string(rp_field(json, "c"), &text), true);
	TEXT(text, "\xf0\x9f\x98\x80\n\xef\xbf\xbd!");
	NUMBER(rp_to_string(rp_text("1"), &text), false);
	static const char *const bad[] = {"", " ", "{", "[1,]", "[,1]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "01", "1.", "-", "+1", "1e", ".5", "tru",
		"truex", "\"", "\"\\x\"", "\"\\u12\"", "\"\n\"", "\"\xff\"", "1 2", "[1 2]", "nul", "[1}", "{\"a\" 1}"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (rp_json_valid(rp_text(bad[i]))) {
			printf("%s is taken for JSON\n", bad[i]);
			failures++;
		}
	char deep[1200];
	memset(deep, '[', 600), memset(deep + 600, ']', 600);
	NUMBER(rp_json_valid((rp_bytes){deep, 1200}), false);
	NUMBER(rp_json_valid((rp_bytes){deep + 400, 400}), true);
}

static void test_numbers(void) {
	int64_t i = 0;
	uint64_t u = 0;
	double d = 0;
	bool b = false;
	NUMBER(rp_to_int(rp_text("9007199254740993"), &i) && i == INT64_C(9007199254740993), true);
	NUMBER(rp_to_int(rp_text("-9223372036854775808"), &i) && i == INT64_MIN, true);
	NUMBER(rp_to_uint(rp_text(" 18446744073709551615"), &u) && u == UINT64_MAX, true);
	static const char *const no[] = {"9223372036854775808", "-9223372036854775809", "1.0", "1e3", "\"1\"", "", "-", "null"};
	for (size_t k = 0; k < sizeof no / sizeof *no; k++)
		NUMBER(rp_to_int(rp_text(no[k]), &i), false);
	NUMBER(rp_to_uint(rp_text("18446744073709551616"), &u), false);
	NUMBER(rp_to_uint(rp_text("-1"), &u), false);
	NUMBER(rp_to_double(rp_text("-1.5e2"), &d) && d == -150, true);
	NUMBER(rp_to_double(rp_text("1e999"), &d), false);
	NUMBER(rp_to_double(rp_text("true"), &d), false);
	NUMBER(rp_to_bool(rp_text("true"), &b) && b, true);
	NUMBER(rp_to_bool(rp_text("0"), &b), false);
}

static void test_requests(void) {
	NEW(0);
	rp_activity("work", rp_text("1"), NULL);
	TEXT(rp_text(host.options), "");
	static const char *const codes[] = {"a", "b", NULL};
	rp_options all = {"m", 1, 2, 3, 4, 1.5, 5, codes};
	rp_activity("work", rp_text("1"), &all);
	TEXT(rp_text(host.options), "{\"module\":\"m\",\"timeout_ms\":1,\"total_timeout_ms\":2,"
		"\"retry\":{\"attempts\":3,\"backoff_ms\":4,\"factor\":1.5,\"max_backoff_ms\":5,\"non_retryable\":[\"a\",\"b\"]}}");
	rp_child("w", rp_text("1"), NULL);
	TEXT(rp_text(host.options), "");
	rp_child_options elsewhere = {"m", true};
	rp_child("w", rp_text("1"), &elsewhere);
	TEXT(rp_text(host.options), "{\"module\":\"m\",\"abandon\":true}");
	rp_options one = {.attempts = 2};
	rp_effect("e", rp_text("1"), &one);
	TEXT(rp_text(host.options), "{\"retry\":{\"attempts\":2}}");
	rp_log(REPRISE_LOG_INFO, "%d %s", 1, "line");
	TEXT(rp_text(host.asked), "1 line");
}

static void test_waiting(void) {
	NEW(3, 2, 1, 3);
	rp_handle h[3] = {rp_timer(1), rp_timer(1), rp_timer(1)};
	size_t i = 9;
	NUMBER(rp_wait_any(h, 3, -1, &i), RP_OK);
	NUMBER((long long)i, 1);
	NUMBER(rp_wait_any(h, 3, -1, &i), RP_OK); /* it is still done: nothing is waited for */
	NUMBER(host.waits, 1);
	NUMBER(rp_wait_all(h, 3), RP_OK);
	NUMBER(host.waits, 3);

	NEW(1, -1);
	h[0] = rp_timer(1);
	NUMBER(rp_wait_any(h, 1, 5, &i), RP_TIMEOUT);

	NEW(2, 0, 2); /* cancelled while it waits; what is asked for after that works */
	NUMBER(rp_get(rp_signal("never"), NULL), RP_CANCELLED);
	NUMBER(host.dropped, 1);
	NUMBER(rp_cancelled(), true);
	NUMBER(rp_get(rp_timer(1), NULL), RP_OK);

	NEW(1, 1);
	host.payload[1] = "{\"code\":\"declined\",\"message\":\"no\",\"retryable\":false,\"details\":{\"limit\":9}}";
	host.status[1] = REPRISE_FAILED;
	rp_bytes outcome;
	NUMBER(rp_get(rp_activity("work", rp_text("1"), NULL), &outcome), RP_FAILED);
	TEXT(rp_text(rp_last_failure()->code), "declined");
	TEXT(rp_last_failure()->details, "{\"limit\":9}");
	NUMBER(rp_last_failure()->retryable, RP_NO_RETRY);
	rp_failure more = *rp_last_failure(); /* a failure may be made of the last one */
	more.message = "still no";
	rp_fail_with(more);
	TEXT(rp_text(rp_last_failure()->code), "declined");

	rp_failure kept = rp_keep_failure();
	rp_fail("other", "later");
	TEXT(rp_text(kept.message), "still no");
	TEXT(kept.details, "{\"limit\":9}");

	NEW(0);
	host.payload[1] = "plain text";
	host.status[1] = REPRISE_TIMED_OUT;
	NUMBER(rp_get(rp_activity("work", rp_text("1"), NULL), &outcome), RP_FAILED);
	TEXT(rp_text(rp_last_failure()->code), "timeout");
	TEXT(rp_text(rp_last_failure()->message), "plain text");
}

static void test_http(void) {
	static const char *const headers[] = {"Accept", "text/plain", NULL};
	NEW(1, 1);
	host.payload[1] = "{\"status\":404,\"headers\":{\"via\":\"x\"},\"body\":\"not\\u0020here\"}";
	rp_handle h = rp_http((rp_http_request){.url = "http://h/", .headers = headers}, NULL);
	TEXT(rp_text(host.asked), "{\"method\":\"GET\",\"url\":\"http://h/\",\"headers\":{\"Accept\":\"text/plain\"}}");
	rp_http_response r;
	NUMBER(rp_http_get(h, &r), RP_OK);
	NUMBER(r.status, 404);
	TEXT(rp_field(r.headers, "via"), "\"x\"");
	TEXT(r.body, "not here");
	NUMBER(rp_http_check(&r), RP_FAILED);
	TEXT(rp_last_failure()->details, "{\"status\":404,\"body\":\"not here\"}");
	NUMBER(rp_last_failure()->retryable, RP_NO_RETRY);
	rp_http_free(&r);

	static const char *const packed[] = {"", "/w==", "//8=", "////", "AP8ATQ=="}, bytes[] = "\xff\xff\xff";
	for (size_t n = 0; n < 5; n++) { /* what is no text, in both directions */
		char payload[64];
		rp_bytes body = {n < 4 ? bytes : "\0\xff\0M", n};
		NEW(1, 1);
		h = rp_http((rp_http_request){.url = "u", .body = body}, NULL);
		rp_bytes asked = rp_field(rp_text(host.asked), n ? "body_base64" : "body"), text;
		NUMBER(rp_to_string(asked, &text), true);
		TEXT(text, packed[n]);
		snprintf(payload, sizeof payload, "{\"status\":200,\"body_base64\":\"%s\"}", packed[n]);
		host.payload[1] = payload;
		NUMBER(rp_http_get(h, &r), RP_OK);
		NUMBER(r.body.len == n && memcmp(r.body.data, body.data, n) == 0, true);
		NUMBER(rp_http_check(&r), RP_OK);
		rp_http_free(&r);
	}
	static const char *const wrong[] = {"{}", "[]", "{\"status\":200,\"body_base64\":\"a\"}", "{\"status\":200,\"body_base64\":\"a*bc\"}", "7"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		NEW(1, 1);
		h = rp_http((rp_http_request){.url = "u"}, NULL);
		host.payload[1] = wrong[i];
		NUMBER(rp_http_get(h, &r), RP_FAILED);
		TEXT(rp_text(rp_last_failure()->code), "invalid_output");
		rp_http_free(&r);
	}
}

static void enter(int kind, const char *entry, const char *input, int32_t want) {
	host.kind = kind, host.entry = entry, host.input = input;
	NUMBER(rp_run(), want);
}

static void test_entering(void) {
	NEW(0);
	enter(REPRISE_ENTRY_DESCRIBE, "", "", 0);
	TEXT(rp_text(host.output), "{\"sdk\":\"c\",\"workflows\":[\"answer\",\"refuse\",\"cancelled\"],\"activities\":[\"work\"]}");
	enter(REPRISE_ENTRY_WORKFLOW, "answer", "[1]", 0);
	TEXT(rp_text(host.output), "[1]");
	enter(REPRISE_ENTRY_ACTIVITY, "work", "2", 0);
	TEXT(rp_text(host.output), "2");
	enter(REPRISE_ENTRY_ACTIVITY, "answer", "", 1);
	TEXT(rp_text(host.failure), "{\"code\":\"unknown_activity\",\"message\":\"the module has none of that name\",\"retryable\":false}");
	enter(REPRISE_ENTRY_WORKFLOW, "", "", 1); /* there are several */
	enter(REPRISE_ENTRY_WORKFLOW, "refuse", "why", 1);
	TEXT(rp_text(host.failure), "{\"code\":\"no\",\"message\":\"why\"}");
	host.entry = "ask", host.input = "3";
	NUMBER(rp_query(), 0);
	TEXT(rp_text(host.output), "3");
	host.entry = "work";
	NUMBER(rp_query(), 1);
	TEXT(rp_text(host.failure), "{\"code\":\"unknown_query\",\"message\":\"the module has none of that name\",\"retryable\":false}");
	NEW(1, 0);
	enter(REPRISE_ENTRY_WORKFLOW, "cancelled", "", 1);
	TEXT(rp_text(host.failure), "{\"code\":\"cancelled\",\"message\":\"the run was cancelled\"}");
}

int main(void) {
	test_writing();
	test_reading();
	test_numbers();
	test_requests();
	test_waiting();
	test_http();
	test_entering();
	return failures > 100 ? 100 : failures;
}
