// An order in C++20: stock and payment side by side, an approval that may take days, and an undoing when something fails.
#define REPRISE_IMPLEMENTATION
#include "reprise.hpp"

#include <ctime>

using namespace reprise;
using namespace std::chrono_literals;

struct order_of {
	std::string id;
	std::int64_t amount = 0;
};
REPRISE_FIELDS(order_of, id, amount)

struct approval {
	std::string by;
};
REPRISE_FIELDS(approval, by)

struct receipt {
	std::string order, payment, shipped;
};
REPRISE_FIELDS(receipt, order, payment, shipped)

// What the query shows. An instance has one run, so it may be static.
struct bookings {
	std::optional<std::string> stock, payment;
};
REPRISE_FIELDS(bookings, stock, payment)
static bookings booked;

static const options retried{.attempts = 5, .backoff_ms = 200};

// Activities run outside the workflow, at least once, and are retried by policy. A real one would ask for http.request.

static result<std::string> reserve(order_of o) { return "stock-" + o.id; }

static result<std::string> pay(order_of o) {
	if (o.amount > 10'000) return failure{"card_declined", std::to_string(o.amount) + " is too much", RP_NO_RETRY};
	return "payment-" + o.id;
}

static result<unit> release(std::string stock) {
	log("released " + stock);
	return ok;
}

static result<unit> refund(std::string payment) {
	log("refunded " + payment);
	return ok;
}

static std::string text(std::chrono::sys_time<std::chrono::nanoseconds> at) {
	char text[32];
	std::time_t seconds = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
	std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000Z", std::gmtime(&seconds));
	return text;
}

// The next approval, within a week. The timer goes with its task.
static task<approval> approved() {
	publish("stage", "waiting for approval");
	auto signalled = signal<approval>("approve");
	auto week = reprise::sleep(7 * 24h);
	if (co_await race(signalled, week) == 1) {
		auto passed = co_await week; // or not: the run may have been cancelled
		co_return passed ? failure{"timeout", "nobody approved the order within a week"} : passed.error();
	}
	co_return co_await signalled;
}

// What may have to be undone is still the caller's when this fails.
static task<receipt> ship(order_of o, const task<std::string> &stock, const task<std::string> &payment) {
	publish("stage", "booking");
	auto reserved = co_await stock;
	auto paid = co_await payment;
	if (!reserved) co_return reserved.error();
	if (!paid) co_return paid.error();
	booked = {*reserved, *paid};

	auto yes = co_await approved();
	if (!yes) co_return yes.error();
	log("approved by " + yes->by);

	publish("stage", "packing");
	auto packed = co_await reprise::sleep(2s);
	if (!packed) co_return packed.error();
	co_return receipt{o.id, *paid, text(now())};
}

static task<receipt> order(order_of o) {
	auto stock = activity<std::string>("reserve", o, retried);
	auto payment = activity<std::string>("pay", o, retried);
	auto shipped = co_await ship(o, stock, payment);
	if (shipped) co_return shipped;

	publish("stage", shipped.error().code == "cancelled" ? "cancelled" : "failed");
	// What is asked for after a cancellation works. The run's failure is the first, whatever comes of the undoing.
	if (auto paid = co_await payment) (void)co_await activity("refund", *paid, retried);
	if (auto reserved = co_await stock) (void)co_await activity("release", *reserved, retried);
	co_return shipped;
}

static result<bookings> show() { return booked; }

RP_MODULE(REPRISE_WORKFLOW("order", order), REPRISE_QUERY("booked", show), REPRISE_ACTIVITY("reserve", reserve), REPRISE_ACTIVITY("release", release), REPRISE_ACTIVITY("pay", pay),
          REPRISE_ACTIVITY("refund", refund));
