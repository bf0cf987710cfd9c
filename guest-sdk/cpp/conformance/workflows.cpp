#define REPRISE_IMPLEMENTATION
#include "conformance.hpp"

#include <bit>
#include <cassert>
#include <cinttypes>
#include <cstdio>

using namespace reprise;
using namespace std::chrono_literals;

struct caught_failure {
	std::string code, message;
	json details;
};
REPRISE_FIELDS(caught_failure, code, message, details)

struct child_result {
	std::int64_t child;
};
REPRISE_FIELDS(child_result, child)

struct large_result {
	std::int64_t length;
};
REPRISE_FIELDS(large_result, length)

struct number_result {
	std::int64_t big;
	std::string nan;
};
REPRISE_FIELDS(number_result, big, nan)

static const options few_attempts{.attempts = 5, .backoff_ms = 1};

static task<std::int64_t> ask_double(std::int64_t v) { return activity<std::int64_t>("double", v); }

static task<std::int64_t> sequential(int n) {
	std::int64_t v = 1;
	for (; n > 0; n--) {
		auto doubled = co_await ask_double(v);
		if (!doubled) co_return doubled.error();
		v = *doubled;
	}
	co_return v;
}

static task<std::vector<std::int64_t>> parallel() {
	std::vector<task<std::int64_t>> asked;
	for (int i = 1; i <= 3; i++) asked.push_back(ask_double(i));
	co_return co_await all(std::move(asked));
}

static task<std::string> race_for_it() {
	auto hung = activity("hang", nullptr, {.timeout_ms = 7200000});
	auto timer = reprise::sleep(20ms);
	std::size_t first = co_await race(hung, timer);
	co_return first == 1 ? "timer" : "hang"; // hang goes with its task
}

static task<caught_failure> caught() {
	auto paid = co_await activity("decline", "no money", few_attempts);
	if (paid) co_return failure{"unexpected", "it was not declined"};
	const failure &why = paid.error();
	co_return caught_failure{why.code, why.message, json(why.details)};
}

static task<int> ask_flaky() { return activity<int>("flaky", nullptr, few_attempts); }

static task<bool> timer() {
	auto before = now();
	auto passed = co_await reprise::sleep(30ms);
	if (!passed) co_return passed.error();
	co_return now() - before >= 30ms;
}

static task<std::vector<json>> signals() {
	publish("stage", "waiting");
	std::vector<json> payloads;
	for (int i = 0; i < 2; i++) {
		auto payload = co_await signal("go");
		if (!payload) co_return payload.error();
		payloads.push_back(*payload);
	}
	co_return payloads;
}

static task<child_result> ask_child(int n) {
	auto v = co_await child<std::int64_t>("sequential", n);
	if (!v) co_return v.error();
	co_return child_result{*v};
}

static task<std::string> again(int n) {
	if (n == 0) co_return "done";
	auto doubled = co_await ask_double(n);
	if (!doubled) co_return doubled.error();
	co_return continue_as_new(n - 1);
}

static task<> cleanup() {
	auto never = co_await signal("never");
	if (never) co_return ok;
	auto undone = co_await ask_double(21);
	if (!undone) co_return undone.error();
	publish("undone", *undone);
	co_return never.error();
}

static task<large_result> large() {
	auto text = co_await activity<std::string>("repeat", 1048576);
	if (!text) co_return text.error();
	auto n = co_await activity<std::int64_t>("length", *text);
	if (!n) co_return n.error();
	co_return large_result{*n};
}

static task<number_result> numbers() {
	auto big = co_await activity<std::int64_t>("echo", INT64_C(9007199254740993));
	if (!big) co_return big.error();
	volatile double zero = 0;
	char bits[17];
	std::snprintf(bits, sizeof bits, "%016" PRIx64, std::bit_cast<std::uint64_t>(zero / zero));
	co_return number_result{*big, bits};
}

static task<std::string> unicode() { return activity<std::string>("echo", "é 😀 日本 \"quoted\" \\ \n"); }

// What it adds after the call keeps the compiler from making a loop of it.
[[gnu::noinline]] static std::int64_t sum(std::int64_t n) {
	volatile std::int64_t here = n;
	return n == 0 ? 0 : here + sum(n - 1);
}

static result<std::int64_t> deep(std::int64_t n) { return sum(n); }

static result<std::int64_t> overflow() { return sum(-1); }

static result<unit> hungry() {
	std::vector<std::unique_ptr<char[]>> taken;
	for (;;) taken.push_back(std::make_unique<char[]>(1 << 20));
}

static task<> panics() {
	auto passed = co_await reprise::sleep(1ms);
	assert(!"boom");
	co_return passed;
}

RP_MODULE(
	REPRISE_WORKFLOW("sequential", sequential),
	REPRISE_WORKFLOW("parallel", parallel),
	REPRISE_WORKFLOW("race", race_for_it),
	REPRISE_WORKFLOW("caught", caught),
	REPRISE_WORKFLOW("flaky", ask_flaky),
	REPRISE_WORKFLOW("timer", timer),
	REPRISE_WORKFLOW("signal", signals),
	REPRISE_WORKFLOW("child", ask_child),
	REPRISE_WORKFLOW("again", again),
	REPRISE_WORKFLOW("cleanup", cleanup),
	REPRISE_WORKFLOW("large", large),
	REPRISE_WORKFLOW("numbers", numbers),
	REPRISE_WORKFLOW("unicode", unicode),
	REPRISE_WORKFLOW("deep", deep),
	REPRISE_WORKFLOW("overflow", overflow),
	REPRISE_WORKFLOW("hungry", hungry),
	REPRISE_WORKFLOW("panics", panics),
	REPRISE_ACTIVITY("double", twice),
	REPRISE_ACTIVITY("echo", echo),
	REPRISE_ACTIVITY("repeat", repeat),
	REPRISE_ACTIVITY("length", length),
	REPRISE_ACTIVITY("hang", hang),
	REPRISE_ACTIVITY("decline", decline),
	REPRISE_ACTIVITY("flaky", flaky));
