#include "conformance.hpp"

using namespace reprise;
using namespace std::chrono_literals;

result<std::int64_t> twice(std::int64_t v) { return 2 * v; }

result<bytes> echo(bytes input) { return input; }

result<std::string> repeat(std::size_t n) { return std::string(n, 'x'); }

result<std::size_t> length(std::string text) { return text.size(); }

task<json> hang() {
	auto passed = co_await reprise::sleep(1h);
	if (!passed) co_return passed.error();
	co_return json("null");
}

result<json> decline(std::string message) { return failure{"declined", message, RP_NO_RETRY, R"({"limit":9})"}; }

result<int> flaky() {
	int attempt = info()["attempt"].as<int>().value_or(0);
	if (attempt < 3) return failure{"failed", "not yet"};
	return attempt;
}
