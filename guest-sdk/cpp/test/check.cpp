// Tests of reprise.hpp as a program of this machine, on the host of the C SDK's tests.
#define REPRISE_IMPLEMENTATION
#include "reprise.hpp"
#include "reprise_http.hpp"

#include "host.h"

using namespace reprise;
using namespace std::chrono_literals;

struct point {
	std::int64_t x = 0;
	std::optional<std::string> name{};
	std::vector<unsigned char> bytes{};
	bool operator==(const point &) const = default;
};
REPRISE_FIELDS(point, x, name, bytes)

static void check(int line, bool is, const char *what) {
	if (is) return;
	std::printf("check.cpp:%d: %s\n", line, what);
	failures++;
}
#define CHECK(condition) check(__LINE__, condition, #condition)

template <class T> static std::optional<T> read(const char *text) { return json(text).as<T>(); }

static void test_codec() {
	CHECK(encode(point{-7, "é\n", {1, 255}}) == R"({"x":-7,"name":"é\n","bytes":[1,255]})");
	CHECK(encode(point{}) == R"({"x":0,"name":null,"bytes":[]})");
	CHECK(read<point>(R"( {"bytes":[1,255],"more":{},"x":-7,"name":"é\n"})") == (point{-7, "é\n", {1, 255}}));
	CHECK(read<point>("{}") == point{});
	CHECK(!read<point>("[]"));
	CHECK(!read<point>(R"({"x":"1"})"));
	CHECK(!read<point>(R"({"bytes":[256]})"));
	CHECK(!read<point>(R"({"x":1)"));
	CHECK(!read<std::int8_t>("128") && read<std::int8_t>("-128") == -128);
	CHECK(read<std::uint64_t>("18446744073709551615") == UINT64_MAX && !read<std::uint32_t>("-1"));
	CHECK(!read<std::vector<int>>("[1,2") && !read<std::vector<int>>("{}"));
	CHECK(json(R"({"a":[10,{"b":"c"}]})")["a"][1]["b"].as<std::string>() == "c");
	CHECK(encode("a\"b") == R"("a\"b")" && encode(nullptr) == "null" && encode(bytes{"\xff"}) == "\xff");
}

// ---- The module under test ----

static int alive; // coroutines that have not ended
struct life {
	life() { alive++; }
	~life() { alive--; }
};

static task<int> add_one(int n) {
	life l;
	auto v = co_await activity<int>("add", n);
	if (!v) co_return v.error();
	co_return *v + 1;
}

static task<std::vector<int>> both(std::vector<int> in) {
	std::vector<task<int>> asked;
	for (int n : in) asked.push_back(add_one(n));
	co_return co_await all(std::move(asked));
}

static task<int> mixed() {
	auto r = co_await all(add_one(1), signal<std::string>("s"));
	if (!r) co_return r.error();
	co_return std::get<0>(*r) + int(std::get<1>(*r).size());
}

static task<std::size_t> quickest() {
	life l;
	auto slow = add_one(1);
	auto timer = reprise::sleep(1s);
	std::size_t first = co_await race(slow, timer);
	{ auto dropped = std::move(slow); }
	CHECK(alive == 1);
	co_return first;
}

static task<> undo() {
	auto a = add_one(1);
	auto never = co_await signal("never");
	if (never) co_return ok;
	auto also = co_await a; // it was waiting too, in a coroutine of its own
	CHECK(!also && also.error().code == "cancelled");
	auto undone = co_await activity<int>("undo", 1);
	CHECK(undone && *undone == 5);
	co_return never.error();
}

static result<std::int64_t> doubled(std::int64_t v) { return 2 * v; }
static task<int> forwarded() { return activity<int>("refused", 1); }

static task<std::string> fetch() {
	http_request q{.url = "http://h/", .headers = {{"A", "b"}}, .body = "\xff"};
	auto r = co_await http(q);
	if (!r) co_return r.error();
	if (auto good = r->check(); !good) co_return good.error();
	co_return r->body + r->headers["via"].as<std::string>().value_or("");
}

RP_MODULE(REPRISE_WORKFLOW("fetch", fetch), REPRISE_WORKFLOW("both", both), REPRISE_WORKFLOW("mixed", mixed), REPRISE_WORKFLOW("quickest", quickest),
          REPRISE_WORKFLOW("undo", undo), REPRISE_WORKFLOW("forwarded", forwarded), REPRISE_ACTIVITY("doubled", doubled));

// ---- Tests ----

static void enter(const char *name, const char *input, std::int32_t want, int kind = REPRISE_ENTRY_WORKFLOW) {
	host.kind = kind, host.entry = name, host.input = input;
	detail::the_loop().cancelled = false;
	check_number(__LINE__, rp_run(), want);
	CHECK(alive == 0);
	CHECK(detail::the_loop().pending.empty() && detail::the_loop().ready.empty());
}

static void test_tasks() {
	fresh(2, 2, 1);
	host.payload[1] = "10", host.payload[2] = "20";
	enter("both", "[1,2]", 0);
	TEXT(rp_text(host.output), "[11,21]");
	NUMBER(host.dropped, 2);

	fresh(1, 2); // one fails, the other is given up at once
	host.payload[2] = R"({"code":"bad","message":"m","details":[1]})";
	host.script[0] = 2, host.fails[2] = true;
	enter("both", "[1,2]", 1);
	TEXT(rp_text(host.failure), R"({"code":"bad","message":"m","details":[1]})");
	NUMBER(host.dropped, 2);

	fresh(2, 2, 1);
	host.payload[1] = "1", host.payload[2] = "\"four\"";
	enter("mixed", "", 0);
	TEXT(rp_text(host.output), "6");

	fresh(1, 2);
	enter("quickest", "", 0);
	TEXT(rp_text(host.output), "1");
	NUMBER(host.dropped, 2);

	fresh(2, 0, 3);
	host.payload[3] = "5";
	enter("undo", "", 1);
	TEXT(rp_text(host.failure), R"({"code":"cancelled","message":"the run was cancelled"})");
}

static void test_entering() {
	fresh(0);
	enter("doubled", "4503599627370497", 0, REPRISE_ENTRY_ACTIVITY);
	TEXT(rp_text(host.output), "9007199254740994");
	enter("doubled", "\"no\"", 1, REPRISE_ENTRY_ACTIVITY);
	TEXT(rp_text(host.failure), R"({"code":"invalid_input","message":"the input is not of the type that the function takes","retryable":false})");
	fresh(0); // a request that has failed already
	host.status[1] = REPRISE_FAILED, host.payload[1] = R"({"code":"payload_too_large","message":"m"})";
	enter("forwarded", "", 1);
	TEXT(rp_text(host.failure), R"({"code":"payload_too_large","message":"m"})");
	fresh(1, 1);
	host.payload[1] = "\"text\"";
	enter("forwarded", "", 1);
	NUMBER(strstr(host.failure, "\"invalid_output\"") != nullptr, true);
}

static void test_http() {
	fresh(1, 1);
	host.payload[1] = R"({"status":200,"headers":{"via":"x"},"body":"text "})";
	enter("fetch", "", 0);
	TEXT(rp_text(host.asked), R"({"method":"POST","url":"http://h/","headers":{"A":"b"},"body_base64":"/w=="})");
	TEXT(rp_text(host.output), "\"text x\"");
	fresh(1, 1);
	host.payload[1] = R"({"status":500,"body":"oh"})";
	enter("fetch", "", 1);
	TEXT(rp_text(host.failure), R"({"code":"http_status","message":"the server answered with status 500","details":{"status":500,"body":"oh"}})");
}

int main() {
	test_codec();
	test_tasks();
	test_entering();
	test_http();
	return failures > 100 ? 100 : failures;
}
