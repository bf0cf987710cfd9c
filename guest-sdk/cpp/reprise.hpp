// Durable workflows and activities as coroutines of C++20, without exceptions, over reprise.h of the C SDK.
//
//     #define REPRISE_IMPLEMENTATION // in exactly one file of the module
//     #include "reprise.hpp"
//
//     struct order { std::string id; std::int64_t amount; };
//     REPRISE_FIELDS(order, id, amount)
//
//     reprise::result<std::string> charge(order o) { return "receipt of " + o.id; }
//
//     reprise::task<std::string> place(order o) {
//         auto receipt = co_await reprise::activity<std::string>("charge", o);
//         if (!receipt) co_return receipt.error();
//         auto slept = co_await reprise::sleep(std::chrono::hours(24));
//         if (!slept) co_return slept.error();
//         co_return *receipt;
//     }
//
//     RP_MODULE(REPRISE_WORKFLOW("place", place), REPRISE_ACTIVITY("charge", charge));
//
// A task is what a coroutine returns and what a request is. It begins at once, may be awaited any number of times, and gives a
// result: a value or a failure. To drop a task is to give it up: what it waits for is cancelled, and its frame is destroyed.
//
// When the run is cancelled, every request that is pending fails with code "cancelled"; what is asked for after that works, so
// that a program can undo. A workflow that ends with a failure of that code ends its run as cancelled.
#ifndef REPRISE_HPP
#define REPRISE_HPP

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "reprise.h"
#include "reprise_codec.hpp"

namespace reprise {

// Why something failed. details is JSON, or empty.
struct failure {
	std::string code, message;
	int retryable = RP_BY_POLICY; // RP_NO_RETRY ends an activity's attempts
	std::string details{};
};

// A value or a failure. Looking at the one that is not there ends the run with a trap.
template <class T> class [[nodiscard]] result {
public:
	result(T value) : v(std::in_place_index<0>, std::move(value)) {}
	result(failure f) : v(std::in_place_index<1>, std::move(f)) {}
	template <class U>
	    requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, T> && !std::same_as<std::remove_cvref_t<U>, result> &&
	             !std::same_as<std::remove_cvref_t<U>, failure>)
	result(U &&value) : v(std::in_place_index<0>, std::forward<U>(value)) {}

	explicit operator bool() const { return v.index() == 0; }
	T &operator*() { return value(); }
	const T &operator*() const { return const_cast<result *>(this)->value(); }
	T *operator->() { return &value(); }
	const failure &error() const {
		if (v.index() != 1) std::abort();
		return *std::get_if<1>(&v);
	}
	T value_or(T other) const { return *this ? **this : std::move(other); }

private:
	T &value() {
		if (v.index() != 0) std::abort();
		return *std::get_if<0>(&v);
	}
	std::variant<T, failure> v;
};

template <class T> class task;

namespace detail {

// A suspended coroutine that an event wakes. It may go away before that.
struct waiter {
	std::coroutine_handle<> coroutine;
	bool queued = false;
	waiter() = default;
	waiter(const waiter &) = delete;
	waiter(waiter &&other) noexcept { (void)other; } // only before it waits
	~waiter();
};

// What a task is made of, apart from its result. A request has a handle, a coroutine a frame.
struct state {
	bool done = false;
	waiter *who = nullptr;
	std::int32_t handle = 0;
	std::coroutine_handle<> frame;

	state() = default;
	state(const state &) = delete;
	virtual ~state();
	virtual void settle(std::int32_t, rp_bytes) {} // a request's outcome
	virtual void fail(failure f) = 0;
	void finish();
};

// The one loop of the instance: coroutines run until all wait, then the run waits for what is pending.
struct loop {
	std::vector<state *> pending; // requests
	std::vector<waiter *> ready;
	bool cancelled = false;

	void wake(waiter *w) {
		if (w->queued) return;
		w->queued = true;
		ready.push_back(w);
	}
	void forget(state *s) { std::erase(pending, s); }
	void open(state *s);
	void take(state *s);
	void cancel();
	void wait();
	void run(const state &root);
};

inline loop &the_loop() {
	static loop l;
	return l;
}

inline waiter::~waiter() {
	if (queued) std::erase(the_loop().ready, this);
}

inline state::~state() {
	if (frame) frame.destroy();
	if (handle != 0) {
		the_loop().forget(this);
		reprise_drop(handle);
	}
}

inline void state::finish() {
	done = true;
	if (who != nullptr) the_loop().wake(std::exchange(who, nullptr));
}

template <class T> struct state_of : state {
	std::optional<result<T>> value;
	void fail(failure f) override {
		value.emplace(std::move(f));
		finish();
	}
};

template <class T> struct request_of : state_of<T> {
	void settle(std::int32_t status, rp_bytes payload) override;
};

// Awaits the first of some tasks to be done, and gives its index.
struct any_of {
	std::vector<std::shared_ptr<state>> states;
	waiter me;

	explicit any_of(std::vector<std::shared_ptr<state>> s) : states(std::move(s)) {}
	any_of(any_of &&) = default;
	~any_of() { leave(); }
	bool await_ready() const { return first() < states.size() || states.empty(); }
	void await_suspend(std::coroutine_handle<> c) {
		me.coroutine = c;
		for (auto &s : states) {
			if (s->who != nullptr) std::abort(); // two coroutines await one task
			s->who = &me;
		}
	}
	std::size_t await_resume() {
		leave();
		return first();
	}

private:
	std::size_t first() const {
		std::size_t i = 0;
		while (i < states.size() && !states[i]->done) i++;
		return i;
	}
	void leave() {
		for (auto &s : states)
			if (s->who == &me) s->who = nullptr;
	}
};

template <class T> struct awaiter : any_of {
	std::shared_ptr<state_of<T>> of;
	explicit awaiter(std::shared_ptr<state_of<T>> s) : any_of({s}), of(std::move(s)) {}
	result<T> await_resume() {
		any_of::await_resume();
		return *of->value;
	}
};

struct at_end {
	state *of;
	bool await_ready() const noexcept { return false; }
	void await_suspend(std::coroutine_handle<>) const noexcept { of->finish(); }
	void await_resume() const noexcept {}
};

} // namespace detail

// Marks that the run goes on as another: co_return reprise::continue_as_new(input).
struct continued {};

// Something under way that will give a result<T>.
template <class T = unit> class [[nodiscard("a task that is dropped is given up")]] task {
public:
	struct promise_type {
		detail::state_of<T> *of = nullptr;
		task get_return_object() {
			auto s = std::make_shared<detail::state_of<T>>();
			s->frame = std::coroutine_handle<promise_type>::from_promise(*this);
			of = s.get();
			return task(std::move(s));
		}
		std::suspend_never initial_suspend() const noexcept { return {}; }
		detail::at_end final_suspend() const noexcept { return {of}; }
		void return_value(result<T> r) { of->value.emplace(std::move(r)); }
		void return_value(continued) { of->value.emplace(failure{"continued", "the run goes on as another", RP_BY_POLICY, ""}); }
		void unhandled_exception() const { std::abort(); }
	};

	explicit task(std::shared_ptr<detail::state_of<T>> s) : s(std::move(s)) {}
	task(task &&) = default;
	task &operator=(task &&) = default;

	detail::awaiter<T> operator co_await() const { return detail::awaiter<T>(s); }
	bool done() const { return s->done; }
	const result<T> &outcome() const { return *s->value; } // of one that is done
	std::shared_ptr<detail::state> shared() const { return s; }

private:
	std::shared_ptr<detail::state_of<T>> s;
};

// The index of the first task that is done, well or not. The others go on until they are dropped.
template <class... Ts> detail::any_of race(const task<Ts> &...tasks) { return detail::any_of({tasks.shared()...}); }

template <class T> detail::any_of race(const std::vector<task<T>> &tasks) {
	std::vector<std::shared_ptr<detail::state>> states;
	for (auto &t : tasks) states.push_back(t.shared());
	return detail::any_of(std::move(states));
}

// The values of all, in order; or the first failure that comes, with which the others are given up.
template <class T> task<std::vector<T>> all(std::vector<task<T>> tasks) {
	for (;;) {
		std::vector<std::shared_ptr<detail::state>> left;
		for (auto &t : tasks) {
			if (!t.done())
				left.push_back(t.shared());
			else if (!t.outcome())
				co_return t.outcome().error();
		}
		if (left.empty()) break;
		co_await detail::any_of(std::move(left));
	}
	std::vector<T> values;
	for (auto &t : tasks) values.push_back(*t.outcome());
	co_return values;
}

// The same for tasks of several types.
template <class... Ts> task<std::tuple<Ts...>> all(task<Ts>... tasks) {
	for (;;) {
		std::vector<std::shared_ptr<detail::state>> left;
		const failure *why = nullptr;
		((tasks.done() ? void(!tasks.outcome() && !why ? why = &tasks.outcome().error() : nullptr) : left.push_back(tasks.shared())), ...);
		if (why) co_return *why;
		if (left.empty()) break;
		co_await detail::any_of(std::move(left));
	}
	co_return std::tuple<Ts...>(*tasks.outcome()...);
}

// ---- Requests: they are made at once, and leave at the next wait ----

using options = rp_options; // {.timeout_ms = 1000, .attempts = 3}

namespace detail {
template <class T> task<T> request(std::int32_t handle) {
	auto s = std::make_shared<request_of<T>>();
	s->handle = handle;
	the_loop().open(s.get());
	return task<T>(std::move(s));
}
inline rp_bytes view(const std::string &s) { return {s.data(), s.size()}; }
} // namespace detail

// Out is how the outcome is read, and In how the input is written: see reprise_codec.hpp.
template <class Out = json, class In> task<Out> activity(const char *name, const In &in, const options &o = {}) {
	return detail::request<Out>(rp_activity(name, detail::view(encode(in)), &o));
}
template <class Out = json, class In> task<Out> effect(const char *name, const In &in, const options &o = {}) {
	return detail::request<Out>(rp_effect(name, detail::view(encode(in)), &o));
}
// A run of its own, which ends when its task is dropped, or this run ends, unless the options say abandon. Not from an activity.
using child_options = rp_child_options; // {.module = "billing", .abandon = true}
template <class Out = json, class In> task<Out> child(const char *workflow, const In &in, const child_options &o = {}) {
	return detail::request<Out>(rp_child(workflow, detail::view(encode(in)), &o));
}
template <class T = json> task<T> signal(const char *name) { return detail::request<T>(rp_signal(name)); }
inline task<> sleep(std::chrono::nanoseconds d) { return detail::request<unit>(rp_timer(d.count())); }

// ---- Values, and telling ----

// Of the last thing seen; moves only at waits.
inline std::chrono::sys_time<std::chrono::nanoseconds> now() { return std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(rp_now())); }
inline std::uint64_t random() { return rp_random(); } // the same in every replay; not for secrets
// JSON with run, tenant, workflow, key, module, and attempt in an activity.
inline json info() { return json(detail::taken(rp_info())); }
template <class T> void publish(const char *key, const T &value) { rp_publish(key, detail::view(encode(value))); }
inline void log(std::string_view line, int level = REPRISE_LOG_INFO) { reprise_log(level, line.data(), std::int32_t(line.size())); }
template <class In> continued continue_as_new(const In &in) {
	rp_continue_as_new(detail::view(encode(in)));
	return {};
}

// ---- The loop ----

namespace detail {

inline failure read_failure(std::int32_t status, rp_bytes payload) {
	const char *code = status == REPRISE_CANCELLED ? "cancelled" : status == REPRISE_TIMED_OUT ? "timeout" : "error";
	failure f;
	if (!codec<std::string>::read(rp_field(payload, "code"), f.code)) return {code, std::string(payload.data, payload.len), RP_BY_POLICY, ""};
	codec<std::string>::read(rp_field(payload, "message"), f.message);
	bool retry;
	if (rp_to_bool(rp_field(payload, "retryable"), &retry)) f.retryable = retry ? RP_RETRY : RP_NO_RETRY;
	rp_bytes details = rp_field(payload, "details");
	if (details.data != nullptr) f.details.assign(details.data, details.len);
	return f;
}

template <class T> void request_of<T>::settle(std::int32_t status, rp_bytes payload) {
	T out{};
	if (status != REPRISE_OK)
		return this->fail(read_failure(status, payload));
	if (!decode(payload, out))
		return this->fail({"invalid_output", "the outcome is not of the type that was asked for", RP_NO_RETRY, ""});
	this->value.emplace(std::move(out));
	this->finish();
}

inline void loop::open(state *s) {
	pending.push_back(s);
	if (reprise_status(s->handle) != REPRISE_PENDING) take(s); // it broke a limit
}

inline void loop::take(state *s) {
	std::int32_t h = std::exchange(s->handle, 0), status = reprise_status(h);
	forget(s);
	std::string payload(std::size_t(reprise_result(h, nullptr, 0)), 0);
	reprise_result(h, payload.data(), std::int32_t(payload.size()));
	reprise_drop(h);
	s->settle(status, view(payload));
}

inline void loop::cancel() {
	cancelled = true;
	for (state *s : std::exchange(pending, {})) {
		reprise_drop(std::exchange(s->handle, 0));
		s->fail({"cancelled", "the run was cancelled", RP_BY_POLICY, ""});
	}
}

inline void loop::wait() {
	std::vector<std::int32_t> set, done(64);
	for (state *s : pending) set.push_back(s->handle);
	if (!cancelled) set.push_back(REPRISE_CANCEL_HANDLE);
	std::int32_t n = reprise_wait(set.data(), std::int32_t(set.size()), -1, done.data(), std::int32_t(done.size()));
	for (std::int32_t i = 0; i < n; i++) {
		if (done[std::size_t(i)] == REPRISE_CANCEL_HANDLE) {
			cancel();
			continue;
		}
		for (state *s : pending)
			if (s->handle == done[std::size_t(i)]) {
				take(s);
				break;
			}
	}
}

inline void loop::run(const state &root) {
	while (!root.done) {
		if (ready.empty()) {
			wait();
			continue;
		}
		waiter *w = ready.front();
		ready.erase(ready.begin());
		w->queued = false;
		w->coroutine.resume();
	}
}

// ---- Entering the module ----

template <class F> struct signature;
template <class R> struct signature<R (*)()> {
	using input = unit;
	static R call(R (*f)(), unit) { return f(); }
};
template <class R, class A> struct signature<R (*)(A)> {
	static_assert(!std::is_reference_v<A>, "take the input by value: a coroutine outlives the call that begins it");
	using input = std::remove_cv_t<A>;
	static R call(R (*f)(A), input in) { return f(std::move(in)); }
};

template <class T> int answer(const result<T> &r) {
	if (r) {
		std::string out = encode(*r);
		return rp_output(view(out));
	}
	const failure &f = r.error();
	return rp_fail_with({f.code.c_str(), f.message.c_str(), f.retryable, view(f.details)});
}

template <class T> int end(const task<T> &t) {
	the_loop().run(*t.shared());
	return !t.outcome() && t.outcome().error().code == "continued" ? RP_OK : answer(t.outcome());
}
template <class T> int end(const result<T> &r) { return answer(r); }

template <auto F> int enter(rp_bytes input) {
	using shape = signature<decltype(F)>;
	typename shape::input in{};
	if (!decode(input, in)) return rp_fail_with({"invalid_input", "the input is not of the type that the function takes", RP_NO_RETRY, {nullptr, 0}});
	return end(shape::call(F, std::move(in)));
}

} // namespace detail
} // namespace reprise

// Rows of RP_MODULE. The function takes nothing or one value, and returns a task<T> or, when it waits for nothing, a result<T>. A query
// is answered by a copy of a run that waits, which has what the workflow left in memory; it may ask for nothing.
#define REPRISE_WORKFLOW(name, function) {name, REPRISE_ENTRY_WORKFLOW, reprise::detail::enter<&function>}
#define REPRISE_ACTIVITY(name, function) {name, REPRISE_ENTRY_ACTIVITY, reprise::detail::enter<&function>}
#define REPRISE_QUERY(name, function) {name, REPRISE_ENTRY_QUERY, reprise::detail::enter<&function>}

// Memory that runs out ends the run with code out_of_memory. The library's own operators would bring its handlers of exceptions.
#if defined(REPRISE_IMPLEMENTATION) && defined(__wasm__) && !defined(__cpp_exceptions)
void *operator new(std::size_t n) { return rp_alloc(n); }
void *operator new[](std::size_t n) { return rp_alloc(n); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t) noexcept { std::free(p); }
#endif

#endif
