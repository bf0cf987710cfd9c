/* Tests of reprise.h as a program of this machine, on a host of a few lines. It says what failed and returns how much did. */
#define REPRISE_IMPLEMENTATION
#include "reprise.h"

#include <math.h>
#include <stdarg.h>

static int failures;

static void check_text(int line, rp_bytes got, const char *want) {
	if (got.data != NULL && got.len == strlen(want) && memcmp(got.data, want, got.len) == 0)
		return;
	printf("check.c:%d: got %.*s, want %s\n", line, (int)got.len, got.data ? got.data : "(nothing)", want);
	failures++;
}

static void check_number(int line, long long got, long long want) {
	if (got == want)
		return;
	printf("check.c:%d: got %lld, want %lld\n", line, got, want);
	failures++;
}

#define TEXT(got, want) check_text(__LINE__, got, want)
#define NUMBER(got, want) check_number(__LINE__, got, want)

/* ---- A host: handles are done in the order in which a test says so ---- */

static struct {
	int kind;
	const char *entry, *input;
	char output[4096], failure[4096], asked[4096], options[4096];
	int32_t status[64];
	const char *payload[64];
	int32_t handles, dropped, waits;
	int32_t script[64]; /* what each wait makes visible; -1 nothing */
} host;

static int32_t give(const char *from, void *ptr, int32_t cap) {
	int32_t n = (int32_t)strlen(from);
	if (cap >= n && n > 0)
		memcpy(ptr, from, (size_t)n);
	return n;
}

static void keep(char *to, const void *from, int32_t n) {
	if (n > 0)
		memcpy(to, from, (size_t)n);
	to[n] = 0;
}

int32_t reprise_entry_kind(void) { return host.kind; }
int32_t reprise_entry(void *p, int32_t cap) { return give(host.entry, p, cap); }
int32_t reprise_info(void *p, int32_t cap) { return give("{\"attempt\":2}", p, cap); }
int32_t reprise_input(void *p, int32_t cap) { return give(host.input, p, cap); }
void reprise_output(const void *p, int32_t n) { keep(host.output, p, n); }
void reprise_fail(const void *p, int32_t n) { keep(host.failure, p, n); }
void reprise_continue_as_new(const void *p, int32_t n) { keep(host.output, p, n); }
int32_t reprise_effect(const void *name, int32_t n, const void *in, int32_t in_len, const void *opts, int32_t opts_len) {
	(void)name, (void)n;
	keep(host.asked, in, in_len);
	keep(host.options, opts, opts_len);
	return ++host.handles;
}
int32_t reprise_activity(const void *name, int32_t n, const void *in, int32_t in_len, const void *opts, int32_t opts_len) {
	return reprise_effect(name, n, in, in_len, opts, opts_len);
}
int32_t reprise_child(const void *name, int32_t n, const void *in, int32_t in_len, const void *opts, int32_t opts_len) {
	return reprise_effect(name, n, in, in_len, opts, opts_len);
}
int32_t reprise_timer(int64_t ns) { (void)ns; return ++host.handles; }
int32_t reprise_signal(const void *name, int32_t n) { (void)name, (void)n; return ++host.handles; }
int32_t reprise_wait(const int32_t *handles, int32_t n, int64_t timeout, int32_t *ready, int32_t cap) {
	(void)timeout, (void)cap;
	int32_t next = host.script[host.waits++];
	for (int32_t i = 0; i < n; i++)
		if (handles[i] == next) {
			if (host.status[next] == REPRISE_PENDING)
				host.status[next] = REPRISE_OK;
			*ready = next;
			return 1;
		}
	return 0;
}
int32_t reprise_status(int32_t h) { return host.status[h]; }
int32_t reprise_result(int32_t h, void *p, int32_t cap) { return give(host.payload[h] ? host.payload[h] : "", p, cap); }
void reprise_cancel(int32_t h) { host.status[h] = REPRISE_CANCELLED; }
void reprise_drop(int32_t h) { (void)h; host.dropped++; }
int32_t reprise_cancel_handle(void) { return 0; }
int64_t reprise_now(void) { return 7; }
void reprise_random(void *p, int32_t n) { memset(p, 1, (size_t)n); }
int32_t reprise_asset(const void *name, int32_t n, void *p, int32_t cap) { (void)name, (void)n, (void)p, (void)cap; return -1; }
void reprise_log(int32_t level, const void *p, int32_t n) { (void)level; keep(host.asked, p, n); }
void reprise_publish(const void *k, int32_t kn, const void *p, int32_t n) { (void)k, (void)kn; keep(host.asked, p, n); }

/* fresh makes a new host whose waits make these handles visible, one after the other. */
static void fresh(int n, ...) {
	memset(&host, 0, sizeof host);
	host.entry = host.input = "";
	rp__told = false;
	va_list args;
	va_start(args, n);
	for (int i = 0; i < n; i++)
		host.script[i] = va_arg(args, int);
	va_end(args);
	for (int i = n; i < 64; i++)
		host.script[i] = -1;
}

/* ---- The module under test ---- */

static int answer(rp_bytes input) { return rp_output(input); }
static int refuse(rp_bytes input) { return rp_fail("no", input.data); }
static int cancelled(rp_bytes input) { (void)input; return rp_get(rp_signal("never"), NULL); }

RP_MODULE(RP_WORKFLOW("answer", answer), RP_WORKFLOW("refuse", refuse), RP_WORKFLOW("cancelled", cancelled), RP_ACTIVITY("work", answer));

/* ---- Tests ---- */

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
	fresh(0);
	rp_activity("work", rp_text("1"), NULL);
	TEXT(rp_text(host.options), "");
	rp_options all = {"m", 1, 2, 3, 4, 1.5, 5};
	rp_activity("work", rp_text("1"), &all);
	TEXT(rp_text(host.options), "{\"module\":\"m\",\"timeout_ms\":1,\"total_timeout_ms\":2,"
		"\"retry\":{\"attempts\":3,\"backoff_ms\":4,\"factor\":1.5,\"max_backoff_ms\":5}}");
	rp_options one = {.attempts = 2};
	rp_effect("e", rp_text("1"), &one);
	TEXT(rp_text(host.options), "{\"retry\":{\"attempts\":2}}");
	rp_log(REPRISE_LOG_INFO, "%d %s", 1, "line");
	TEXT(rp_text(host.asked), "1 line");
}

static void test_waiting(void) {
	fresh(3, 2, 1, 3);
	rp_handle h[3] = {rp_timer(1), rp_timer(1), rp_timer(1)};
	size_t i = 9;
	NUMBER(rp_wait_any(h, 3, -1, &i), RP_OK);
	NUMBER((long long)i, 1);
	NUMBER(rp_wait_any(h, 3, -1, &i), RP_OK); /* it is still done: nothing is waited for */
	NUMBER(host.waits, 1);
	NUMBER(rp_wait_all(h, 3), RP_OK);
	NUMBER(host.waits, 3);

	fresh(1, -1);
	h[0] = rp_timer(1);
	NUMBER(rp_wait_any(h, 1, 5, &i), RP_TIMEOUT);

	fresh(2, 0, 2); /* cancelled while it waits; what is asked for after that works */
	NUMBER(rp_get(rp_signal("never"), NULL), RP_CANCELLED);
	NUMBER(host.dropped, 1);
	NUMBER(rp_cancelled(), true);
	NUMBER(rp_get(rp_timer(1), NULL), RP_OK);

	fresh(1, 1);
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

	fresh(0);
	host.payload[1] = "plain text";
	host.status[1] = REPRISE_TIMED_OUT;
	NUMBER(rp_get(rp_activity("work", rp_text("1"), NULL), &outcome), RP_FAILED);
	TEXT(rp_text(rp_last_failure()->code), "timeout");
	TEXT(rp_text(rp_last_failure()->message), "plain text");
}

static void enter(int kind, const char *entry, const char *input, int32_t want) {
	host.kind = kind, host.entry = entry, host.input = input;
	NUMBER(rp_run(), want);
}

static void test_entering(void) {
	fresh(0);
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
	fresh(1, 0);
	enter(REPRISE_ENTRY_WORKFLOW, "cancelled", "", 1);
	TEXT(rp_text(host.failure), "{\"code\":\"cancelled\",\"message\":\"the run was cancelled\"}");
}

int main(void) {
	test_writing();
	test_reading();
	test_numbers();
	test_requests();
	test_waiting();
	test_entering();
	return failures > 100 ? 100 : failures;
}
