/* An order in C: stock and payment side by side, an approval that may take days, and an undoing when something fails. */
#define REPRISE_IMPLEMENTATION
#include "reprise.h"

#include <stdio.h>
#include <time.h>

static const rp_options retried = {.attempts = 5, .backoff_ms = 200};

/* ---- Activities run outside the workflow, at least once, and are retried by policy. A real one would ask for http.request. ---- */

/* The JSON string of a prefix and the order's id. */
static int output_named(const char *prefix, rp_bytes order) {
	rp_bytes id;
	char text[128];
	if (!rp_to_string(rp_field(order, "id"), &id))
		return rp_fail("invalid_input", "the order has no id");
	snprintf(text, sizeof text, "%s-%s", prefix, id.data);
	rp_json w = {0};
	rp_json_string(&w, rp_text(text));
	return rp_output(rp_json_done(&w));
}

static int reserve(rp_bytes order) { return output_named("stock", order); }

static int pay(rp_bytes order) {
	int64_t amount;
	if (!rp_to_int(rp_field(order, "amount"), &amount))
		return rp_fail("invalid_input", "the order has no amount");
	if (amount > 10000)
		return rp_fail_with((rp_failure){.code = "card_declined", .message = "that is too much", .retryable = RP_NO_RETRY});
	return output_named("payment", order);
}

static int undo(const char *what, rp_bytes booked) {
	rp_log(REPRISE_LOG_INFO, "%s %.*s", what, (int)booked.len, booked.data);
	return rp_output(rp_text("null"));
}

static int release(rp_bytes booked) { return undo("released", booked); }
static int refund(rp_bytes booked) { return undo("refunded", booked); }

/* ---- The workflow ---- */

/* What is booked; nothing where there was no answer. An instance has one run, so what a query shows may be static. */
static rp_bytes stock, payment;

/* The query: {"stock": ..., "payment": ...}. */
static int booked(rp_bytes input) {
	(void)input;
	rp_json w = {0};
	rp_json_object(&w);
	rp_json_key(&w, "stock");
	rp_json_raw(&w, stock);
	rp_json_key(&w, "payment");
	rp_json_raw(&w, payment);
	rp_json_end_object(&w);
	return rp_output(rp_json_done(&w));
}

static int book(rp_bytes order) {
	rp_publish("stage", rp_text("\"booking\""));
	rp_handle reserving = rp_activity("reserve", order, &retried), paying = rp_activity("pay", order, &retried);
	int reserved = rp_get(reserving, &stock), paid = rp_get(paying, &payment);
	return reserved ? reserved : paid;
}

/* Waits for the signal approve, a week at most. */
static int approve(void) {
	rp_publish("stage", rp_text("\"waiting for approval\""));
	rp_handle either[] = {rp_signal("approve"), rp_timer(7 * 24 * RP_HOUR)};
	size_t first;
	int rc = rp_wait_any(either, 2, -1, &first);
	if (rc == RP_OK && first == 1)
		rc = rp_fail("timeout", "nobody approved the order within a week");
	rp_give_up(either[1]);
	if (rc) {
		rp_give_up(either[0]);
		return rc;
	}
	rp_bytes approval, by;
	rc = rp_get(either[0], &approval);
	if (rc == RP_OK && rp_to_string(rp_field(approval, "by"), &by))
		rp_log(REPRISE_LOG_INFO, "approved by %s", by.data);
	return rc;
}

static int output_receipt(rp_bytes order) {
	char text[32];
	time_t now = rp_now() / RP_SECOND;
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000Z", gmtime(&now));
	rp_json w = {0};
	rp_json_object(&w);
	rp_json_key(&w, "order");
	rp_json_raw(&w, rp_field(order, "id"));
	rp_json_key(&w, "payment");
	rp_json_raw(&w, payment);
	rp_json_key(&w, "shipped");
	rp_json_string(&w, rp_text(text));
	rp_json_end_object(&w);
	return rp_output(rp_json_done(&w));
}

static int order(rp_bytes input) {
	int rc = book(input);
	if (rc == RP_OK)
		rc = approve();
	if (rc == RP_OK) {
		rp_publish("stage", rp_text("\"packing\""));
		rc = rp_sleep(2 * RP_SECOND);
	}
	if (rc == RP_OK)
		return output_receipt(input);

	rp_failure why = rp_keep_failure(); /* it is the run's, whatever comes of the undoing */
	rp_publish("stage", rp_text(rc == RP_CANCELLED ? "\"cancelled\"" : "\"failed\""));
	/* What is asked for after a cancellation works. */
	if (payment.data)
		rp_get(rp_activity("refund", payment, &retried), NULL);
	if (stock.data)
		rp_get(rp_activity("release", stock, &retried), NULL);
	return rc == RP_FAILED ? rp_fail_with(why) : rc;
}

RP_MODULE(
	RP_WORKFLOW("order", order),
	RP_ACTIVITY("reserve", reserve),
	RP_ACTIVITY("release", release),
	RP_ACTIVITY("pay", pay),
	RP_ACTIVITY("refund", refund),
	RP_QUERY("booked", booked));
