/* What the files of this module share: the activities. guest-sdk/conformance/README.md says what each does. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include "reprise.h"

int double_it(rp_bytes input);
int echo(rp_bytes input);
int repeat(rp_bytes input);
int length(rp_bytes input);
int hang(rp_bytes input);
int decline(rp_bytes input);
int flaky(rp_bytes input);

/* Asks for double(v) and waits: an rp_ code. */
int ask_double(int64_t v, int64_t *result);

/* Sets an integer as the result. */
int output_int(int64_t v);

/* Reads an outcome that is an integer and frees it. */
int take_int(rp_bytes outcome, int64_t *v);

#endif
