/*
 * A workflow that takes signals named "add" until their sum is the input or more, and answers queries meanwhile: its sums
 * are in a frame that waits, several calls deep. The names of queries are what each does.
 */
#include "guest.h"

#include <string.h>

struct sums {
	long long target, sum, taken;
};

static struct sums *current;
static long long asked; /* how many queries this instance has answered */

static long long take(int depth) {
	volatile char frame[64];
	frame[depth % sizeof frame] = 1;
	if (depth > 0)
		return take(depth - 1) + frame[depth % sizeof frame] - 1;
	int32_t handle = reprise_signal("add", 3), ready;
	reprise_wait(&handle, 1, -1, &ready, 1);
	char text[32] = {0};
	reprise_result(handle, text, sizeof text - 1);
	reprise_drop(handle);
	return atoll(text);
}

REPRISE_EXPORT("reprise_run") int32_t run(void) {
	if (reprise_entry_kind() == 3)
		return 0; /* it is the only workflow, and has no name */
	struct sums s = {.target = input_number()};
	current = &s;
	while (s.sum < s.target) {
		s.sum += take(20);
		s.taken++;
		reprise_publish("sum", 3, &s.sum, sizeof s.sum);
	}
	output_number(s.sum);
	return 0;
}

static int is(const char *name, const char *wanted) { return strcmp(name, wanted) == 0; }

REPRISE_EXPORT("reprise_query") int32_t query(void) {
	char name[64] = {0}, text[128];
	reprise_entry(name, sizeof name - 1);
	int32_t handle = 0, ready;
	asked++;
	if (is(name, "sum")) {
		volatile char below[4096]; /* more than what the frames below have left free */
		memset((char *)below, 0xa5, sizeof below);
		current->sum += input_number(); /* in the copy only */
		reprise_output(text, snprintf(text, sizeof text, "{\"kind\":%d,\"sum\":%lld,\"taken\":%lld,\"asked\":%lld}",
			reprise_entry_kind(), current->sum, current->taken, asked));
	} else if (is(name, "effect"))
		reprise_effect("bench.add", 9, "1", 1, NULL, 0);
	else if (is(name, "activity"))
		reprise_activity("some", 4, "1", 1, NULL, 0);
	else if (is(name, "timer"))
		reprise_timer(1);
	else if (is(name, "signal"))
		reprise_signal("add", 3);
	else if (is(name, "wait"))
		reprise_wait(&handle, 1, -1, &ready, 1);
	else if (is(name, "look"))
		reprise_wait(&handle, 1, 0, &ready, 1);
	else if (is(name, "publish"))
		reprise_publish("sum", 3, "x", 1);
	else if (is(name, "cancel"))
		reprise_cancel(1);
	else if (is(name, "spin"))
		for (volatile int i = 1; i; i = 1)
			;
	else if (is(name, "trap"))
		__builtin_trap();
	else if (is(name, "silent"))
		return 0;
	else {
		static const char unknown[] = "{\"code\":\"unknown_query\",\"message\":\"there is no such query\"}";
		reprise_fail(unknown, sizeof unknown - 1);
		return 1;
	}
	return 0;
}
