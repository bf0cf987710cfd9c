/* What the two C guests share: the contract, and numbers as decimal text, which is their JSON too. */
#ifndef GUEST_H
#define GUEST_H

#include <stdio.h>
#include <stdlib.h>

#include "abi.h"

/* input_number is the run's input. */
static long long input_number(void) {
	char text[32] = {0};
	int32_t n = reprise_input(text, sizeof text - 1);
	return n < (int32_t)sizeof text ? atoll(text) : 0;
}

static void output_number(long long v) {
	char text[32];
	reprise_output(text, snprintf(text, sizeof text, "%lld", v));
}

#endif
