// How values of C++ are written and read as JSON, for reprise.hpp, which includes this file.
//
// | type | JSON |
// |---|---|
// | bool, integers, float and double | true and false, exact integers, numbers |
// | std::string | a string |
// | std::vector<T>, std::optional<T> | an array; null or a value |
// | a struct with REPRISE_FIELDS | an object; a member that is missing stays what it is by default |
// | reprise::json | any JSON, as it is |
// | reprise::bytes | no JSON: the payload's bytes, as they are; only as a whole payload |
// | reprise::unit | null; anything is read as one |
#ifndef REPRISE_CODEC_HPP
#define REPRISE_CODEC_HPP

#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reprise.h"

namespace reprise {

// Nothing: what a task gives that gives nothing. co_return reprise::ok.
struct unit {};
inline constexpr unit ok{};

namespace detail {
inline std::string taken(rp_bytes b) {
	std::string s(b.data, b.len);
	rp_free(b);
	return s;
}
inline rp_bytes bytes_of(const std::string &s) { return {s.data(), s.size()}; }
} // namespace detail

// How T is written and read: write(rp_json &, const T &) and read(rp_bytes, T &), false when it is none.
template <class T> struct codec;

template <class T> bool decode(rp_bytes payload, T &out);

// JSON text. Of what is not there the text is empty.
struct json {
	std::string text;
	json() = default;
	explicit json(std::string t) : text(std::move(t)) {}

	bool valid() const { return rp_json_valid(detail::bytes_of(text)); }
	json operator[](const char *key) const { return slice(rp_field(detail::bytes_of(text), key)); }
	json operator[](int i) const { return slice(rp_item(detail::bytes_of(text), std::size_t(i))); }
	std::size_t size() const { return rp_count(detail::bytes_of(text)); }
	template <class T> std::optional<T> as() const {
		T out{};
		if (text.empty() || !decode(detail::bytes_of(text), out)) return std::nullopt;
		return out;
	}

private:
	static json slice(rp_bytes b) { return json(b.data ? std::string(b.data, b.len) : std::string()); }
};

struct bytes {
	std::string data;
};

template <> struct codec<bool> {
	static void write(rp_json &w, bool v) { rp_json_bool(&w, v); }
	static bool read(rp_bytes b, bool &v) { return rp_to_bool(b, &v); }
};

template <std::signed_integral T> struct codec<T> {
	static void write(rp_json &w, T v) { rp_json_int(&w, v); }
	static bool read(rp_bytes b, T &v) {
		std::int64_t wide;
		if (!rp_to_int(b, &wide) || wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) return false;
		v = T(wide);
		return true;
	}
};

template <std::unsigned_integral T> struct codec<T> {
	static void write(rp_json &w, T v) { rp_json_uint(&w, v); }
	static bool read(rp_bytes b, T &v) {
		std::uint64_t wide;
		if (!rp_to_uint(b, &wide) || wide > std::numeric_limits<T>::max()) return false;
		v = T(wide);
		return true;
	}
};

template <std::floating_point T> struct codec<T> {
	static void write(rp_json &w, T v) { rp_json_double(&w, double(v)); }
	static bool read(rp_bytes b, T &v) {
		double wide;
		if (!rp_to_double(b, &wide)) return false;
		v = T(wide);
		return true;
	}
};

template <> struct codec<std::string> {
	static void write(rp_json &w, const std::string &v) { rp_json_string(&w, detail::bytes_of(v)); }
	static bool read(rp_bytes b, std::string &v) {
		rp_bytes text;
		if (!rp_to_string(b, &text)) return false;
		v = detail::taken(text);
		return true;
	}
};

template <> struct codec<json> {
	static void write(rp_json &w, const json &v) { rp_json_raw(&w, detail::bytes_of(v.text)); }
	static bool read(rp_bytes b, json &v) {
		v.text.assign(b.data, b.len);
		return v.valid();
	}
};

template <class T> struct codec<std::vector<T>> {
	static void write(rp_json &w, const std::vector<T> &v) {
		rp_json_array(&w);
		for (const T &item : v) codec<T>::write(w, item);
		rp_json_end_array(&w);
	}
	static bool read(rp_bytes b, std::vector<T> &v) {
		rp_bytes key, value;
		if (!rp_json_valid(b) || b.data[0] != '[') return false;
		v.clear();
		for (std::size_t at = 0; rp_next(b, &at, &key, &value);)
			if (!codec<T>::read(value, v.emplace_back())) return false;
		return true;
	}
};

template <class T> struct codec<std::optional<T>> {
	static void write(rp_json &w, const std::optional<T> &v) {
		if (v)
			codec<T>::write(w, *v);
		else
			rp_json_null(&w);
	}
	static bool read(rp_bytes b, std::optional<T> &v) {
		v.reset();
		return (b.len == 4 && b.data[0] == 'n') || codec<T>::read(b, v.emplace());
	}
};

namespace detail {
template <class T> void write_field(rp_json &w, const char *key, const T &v) {
	rp_json_key(&w, key);
	codec<T>::write(w, v);
}
template <class T> bool read_field(rp_bytes object, const char *key, T &v) {
	rp_bytes b = rp_field(object, key);
	return b.data == nullptr || codec<T>::read(b, v);
}
} // namespace detail

// The payload of a value.
template <class T> std::string encode(const T &v) {
	if constexpr (std::same_as<T, bytes>) {
		return v.data;
	} else if constexpr (std::same_as<T, json>) {
		return v.text.empty() ? "null" : v.text;
	} else if constexpr (std::same_as<T, unit> || std::same_as<T, std::nullptr_t>) {
		return "null";
	} else if constexpr (std::convertible_to<T, const char *>) {
		return encode(std::string(v));
	} else {
		rp_json w{};
		codec<T>::write(w, v);
		return detail::taken(rp_json_done(&w));
	}
}

// The value of a payload; false when it is none. No bytes leave out as it is, so that a run may be started without an input.
template <class T> bool decode(rp_bytes payload, T &out) {
	if constexpr (std::same_as<T, unit>) {
		return true;
	} else if constexpr (std::same_as<T, bytes>) {
		out.data.assign(payload.data, payload.len);
		return true;
	} else {
		return payload.len == 0 || codec<T>::read(payload, out);
	}
}

} // namespace reprise

#define REPRISE_EXPAND(...) REPRISE_EXPAND2(REPRISE_EXPAND2(REPRISE_EXPAND2(__VA_ARGS__)))
#define REPRISE_EXPAND2(...) REPRISE_EXPAND3(REPRISE_EXPAND3(REPRISE_EXPAND3(__VA_ARGS__)))
#define REPRISE_EXPAND3(...) REPRISE_EXPAND4(REPRISE_EXPAND4(REPRISE_EXPAND4(__VA_ARGS__)))
#define REPRISE_EXPAND4(...) __VA_ARGS__
#define REPRISE_PARENS ()
#define REPRISE_EACH(macro, ...) __VA_OPT__(REPRISE_EXPAND(REPRISE_EACH_STEP(macro, __VA_ARGS__)))
#define REPRISE_EACH_STEP(macro, first, ...) macro(first) __VA_OPT__(REPRISE_EACH_AGAIN REPRISE_PARENS(macro, __VA_ARGS__))
#define REPRISE_EACH_AGAIN() REPRISE_EACH_STEP
#define REPRISE_WRITE_FIELD(field) reprise::detail::write_field(w, #field, v.field);
#define REPRISE_READ_FIELD(field) &&reprise::detail::read_field(b, #field, v.field)

// Makes a struct an object of these members (at most 27), in this order; at namespace scope outside of reprise.
#define REPRISE_FIELDS(type, ...)                                                                                                  \
	template <> struct reprise::codec<type> {                                                                                  \
		static void write(rp_json &w, const type &v) {                                                                     \
			rp_json_object(&w);                                                                                        \
			REPRISE_EACH(REPRISE_WRITE_FIELD, __VA_ARGS__)                                                             \
			rp_json_end_object(&w);                                                                                    \
		}                                                                                                                  \
		static bool read(rp_bytes b, type &v) {                                                                            \
			rp_bytes space = b;                                                                                        \
			while (space.len > 0 && strchr(" \n\r\t", space.data[0])) space.data++, space.len--;                       \
			return rp_json_valid(b) && space.data[0] == '{' REPRISE_EACH(REPRISE_READ_FIELD, __VA_ARGS__);             \
		}                                                                                                                  \
	};

#endif
