/*
 * A workflow that its input tells what to do: commands with a ';' behind each, some with an argument in round brackets.
 *
 *     child(SCRIPT)    starts a child with that input          abandon(SCRIPT)  starts one that may go on alone
 *     module(NAME)     starts a child of another module        named(NAME)      starts a child of that name
 *     wait             waits for the last child, and adds its status and result to the output
 *     drop             gives the last child up                 signal(NAME)     waits for a signal
 *     out(TEXT)        adds a text to the output               fail             fails with code boom
 *     next(SCRIPT)     continues as new with that input        again            continues as new with its own input
 */
#include "guest.h"

#include <string.h>

static char out[4096];

static void add(const char *text, size_t n) {
	size_t have = strlen(out);
	if (have + n < sizeof out)
		memcpy(out + have, text, n);
}

/* await waits for a handle and adds what it has to say when told. */
static void await(int32_t handle, int tell) {
	int32_t ready;
	reprise_wait(&handle, 1, -1, &ready, 1);
	char text[2048] = {0};
	int32_t n = reprise_result(handle, text, sizeof text - 1);
	if (!tell)
		return;
	const char *status[] = {"pending ", "ok ", "failed ", "cancelled ", "timed_out "};
	add(status[reprise_status(handle)], strlen(status[reprise_status(handle)]));
	add(text, n);
}

static int32_t child(const char *name, size_t name_len, const char *in, size_t in_len, const char *options) {
	return reprise_child(name, name_len, in, in_len, options, strlen(options));
}

/* command carries out one command and returns 0, or what the entry is to return. */
static int command(const char *word, size_t n, const char *arg, size_t arg_len, int32_t *last) {
#define IS(w) (n == sizeof w - 1 && !memcmp(word, w, n))
	if (IS("child"))
		*last = child("run", 3, arg, arg_len, "");
	else if (IS("abandon"))
		*last = child("run", 3, arg, arg_len, "{\"abandon\":true}");
	else if (IS("named"))
		*last = child(arg, arg_len, "", 0, "");
	else if (IS("module")) {
		char options[256];
		snprintf(options, sizeof options, "{\"module\":\"%.*s\"}", (int)arg_len, arg);
		*last = child("run", 3, "", 0, options);
	} else if (IS("wait"))
		await(*last, 1);
	else if (IS("drop"))
		reprise_drop(*last);
	else if (IS("signal"))
		await(reprise_signal(arg, arg_len), 0);
	else if (IS("out"))
		add(arg, arg_len);
	else if (IS("next"))
		reprise_continue_as_new(arg, arg_len);
	else if (IS("again")) {
		char in[4096];
		reprise_continue_as_new(in, reprise_input(in, sizeof in));
	} else if (IS("fail")) {
		const char failure[] = "{\"code\":\"boom\",\"message\":\"as told\"}";
		reprise_fail(failure, sizeof failure - 1);
		return 1;
	}
	return 0;
}

REPRISE_EXPORT("reprise_run") int32_t run(void) {
	char in[4096] = {0};
	reprise_input(in, sizeof in - 1);
	int32_t last = 0;
	for (char *p = in; *p;) {
		char *word = p, *arg = p;
		p += strcspn(p, "(;");
		size_t n = p - word, arg_len = 0;
		if (*p == '(') {
			arg = ++p;
			for (int depth = 1; *p && depth; p++)
				depth += (*p == '(') - (*p == ')');
			arg_len = p - arg - 1;
		}
		if (*p == ';')
			p++;
		int r = command(word, n, arg, arg_len, &last);
		if (r)
			return r;
	}
	reprise_output(out, strlen(out));
	return 0;
}
