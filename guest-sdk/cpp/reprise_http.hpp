// HTTP by the host, for programs that include reprise.hpp: include this file after it, in the file with REPRISE_IMPLEMENTATION too.
//
//     auto answer = co_await reprise::http({.url = "https://api.example.org/v1/charges", .body = json});
//     if (!answer) co_return answer.error();
//     if (auto good = answer->check(); !good) co_return good.error();
//
// The host sends an Idempotency-Key, the same in every attempt. Which addresses can be reached is the operator's affair, and how
// requests fail is in docs/EFFECTS.md.
#ifndef REPRISE_HTTP_HPP
#define REPRISE_HTTP_HPP

#include "reprise.hpp"
#include "reprise_http.h"

namespace reprise {

struct http_request {
	std::string url;
	std::string method{}; // "": GET, or POST when there is a body
	std::vector<std::pair<std::string, std::string>> headers{};
	std::optional<std::string> body{}; // any bytes
};

struct http_response {
	int status = 0; // also one of 400 or more
	json headers;   // an object, names in lower case
	std::string body;

	// A failure for a status of 400 or more, with code http_status; worth another attempt for 408 and 5xx only.
	result<unit> check() const {
		if (status < 400) return ok;
		rp_http_response r{status, {nullptr, 0}, detail::view(body), {nullptr, 0}};
		rp_http_check(&r);
		const rp_failure &f = *rp_last_failure();
		return failure{f.code, f.message, f.retryable, std::string(f.details.data, f.details.len)};
	}
};

template <> struct codec<http_response> {
	static bool read(rp_bytes b, http_response &out) {
		rp_http_response r;
		bool is = rp_http_read(b, &r);
		out.status = r.status;
		out.headers = json(std::string(r.headers.data ? r.headers.data : "", r.headers.len));
		out.body.assign(r.body.data ? r.body.data : "", r.body.len);
		rp_http_free(&r);
		return is;
	}
};

inline task<http_response> http(const http_request &r, const options &o = {}) {
	std::vector<const char *> headers;
	for (auto &[name, value] : r.headers) headers.insert(headers.end(), {name.c_str(), value.c_str()});
	headers.push_back(nullptr);
	rp_http_request request{r.url.c_str(), r.method.empty() ? nullptr : r.method.c_str(), r.headers.empty() ? nullptr : headers.data(), {nullptr, 0}};
	if (r.body) request.body = detail::view(*r.body);
	return detail::request<http_response>(rp_http(request, &o));
}

} // namespace reprise

#endif
