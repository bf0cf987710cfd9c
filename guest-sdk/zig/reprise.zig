//! Durable workflows and activities in Zig 0.13, over the contract of docs/ABI.md.
//!
//!     const reprise = @import("reprise");
//!     pub const panic = reprise.panic;
//!
//!     const Order = struct { id: []const u8, amount: i64 };
//!
//!     fn charge(o: Order) ![]const u8 { ... }
//!
//!     fn order(o: Order) ![]const u8 {
//!         const receipt = try reprise.activity([]const u8, "charge", o, .{ .attempts = 5 }).get();
//!         try reprise.sleep(24 * std.time.ns_per_hour);
//!         return receipt;
//!     }
//!
//!     comptime {
//!         reprise.module(.{ .workflows = .{ .order = order }, .activities = .{ .charge = charge } });
//!     }
//!
//! A workflow is carried on after a crash by running it again from its beginning with the outcomes that it has already seen. Inputs,
//! outputs and payloads are JSON by std.json; a `Json` is passed as it is. What this file allocates is of `allocator` and lives as
//! long as the instance, which is a turn at most.
const std = @import("std");

/// The functions of the host, as the contract names them.
pub const abi = struct {
    pub extern "reprise_v1" fn entry_kind() i32;
    pub extern "reprise_v1" fn entry(ptr: ?[*]u8, cap: usize) i32;
    pub extern "reprise_v1" fn info(ptr: ?[*]u8, cap: usize) i32;
    pub extern "reprise_v1" fn input(ptr: ?[*]u8, cap: usize) i32;
    pub extern "reprise_v1" fn output(ptr: [*]const u8, len: usize) void;
    pub extern "reprise_v1" fn fail(ptr: [*]const u8, len: usize) void;
    pub extern "reprise_v1" fn continue_as_new(ptr: [*]const u8, len: usize) void;
    pub extern "reprise_v1" fn effect(name: [*]const u8, name_len: usize, in: [*]const u8, in_len: usize, opts: [*]const u8, opts_len: usize) i32;
    pub extern "reprise_v1" fn activity(name: [*]const u8, name_len: usize, in: [*]const u8, in_len: usize, opts: [*]const u8, opts_len: usize) i32;
    pub extern "reprise_v1" fn child(name: [*]const u8, name_len: usize, in: [*]const u8, in_len: usize, opts: [*]const u8, opts_len: usize) i32;
    pub extern "reprise_v1" fn timer(nanoseconds: i64) i32;
    pub extern "reprise_v1" fn signal(name: [*]const u8, name_len: usize) i32;
    pub extern "reprise_v1" fn wait(handles: [*]const i32, n: usize, timeout_ns: i64, ready: [*]i32, ready_cap: usize) i32;
    pub extern "reprise_v1" fn status(handle: i32) i32;
    pub extern "reprise_v1" fn result(handle: i32, ptr: ?[*]u8, cap: usize) i32;
    pub extern "reprise_v1" fn drop(handle: i32) void;
    pub extern "reprise_v1" fn cancel_handle() i32;
    pub extern "reprise_v1" fn now() i64;
    pub extern "reprise_v1" fn random(ptr: [*]u8, len: usize) void;
    pub extern "reprise_v1" fn log(level: i32, ptr: [*]const u8, len: usize) void;
    pub extern "reprise_v1" fn publish(key: [*]const u8, key_len: usize, ptr: [*]const u8, len: usize) void;
    pub extern "wasi_snapshot_preview1" fn proc_exit(status: i32) noreturn;
};

const pending = 0;
const ok = 1;
const was_cancelled = 3;
const timed_out = 4;
const cancellation: i32 = 0; // the handle of the run's own

pub const allocator = std.heap.wasm_allocator;

/// Failed: `failure()` says why. Cancelled: the run was cancelled; told once, by the first wait that finds it, and waits after that
/// work, so that a program can undo. A workflow that returns it ends its run as cancelled. Timeout: the time given to `waitAny` has passed.
pub const Error = error{ Failed, Cancelled, Timeout };

/// Why something failed. `retryable` false ends an activity's attempts; null leaves it to the policy.
pub const Failure = struct {
    code: []const u8,
    message: []const u8 = "",
    retryable: ?bool = null,
    details: ?Json = null,
};

var last = Failure{ .code = "error" };

/// The last failure that a function here returned error.Failed for.
pub fn failure() Failure {
    return last;
}

/// `return reprise.fail(.{ .code = "declined", .message = "no money" });`
pub fn fail(f: Failure) Error {
    last = f;
    return error.Failed;
}

/// JSON text that is passed as it is.
pub const Json = struct {
    text: []const u8,

    pub fn jsonStringify(self: Json, out: anytype) !void {
        try out.print("{s}", .{self.text});
    }

    pub fn jsonParse(_: std.mem.Allocator, source: anytype, _: std.json.ParseOptions) !Json {
        _ = try source.peekNextTokenType(); // goes to where the value begins
        const start = source.cursor;
        try source.skipValue();
        return .{ .text = source.input[start..source.cursor] };
    }
};

/// The JSON of a value. Memory that runs out ends the run with code out_of_memory.
pub fn encode(value: anytype) []const u8 {
    if (@TypeOf(value) == Json) return value.text;
    return std.json.stringifyAlloc(allocator, value, .{ .emit_null_optional_fields = false }) catch exhausted();
}

/// The value of a payload; no bytes are null.
pub fn decode(comptime T: type, payload: []const u8) !T {
    const text = if (payload.len == 0) "null" else payload;
    if (T == Json) return .{ .text = text };
    if (T == void) return;
    return std.json.parseFromSliceLeaky(T, allocator, text, .{ .ignore_unknown_fields = true });
}

fn exhausted() noreturn {
    end(.{ .code = "out_of_memory", .message = "the program took all the memory that it may have" });
}

fn end(f: Failure) noreturn {
    tell(f);
    abi.proc_exit(1);
}

fn tell(f: Failure) void {
    const text = encode(f);
    abi.fail(text.ptr, text.len);
}

/// Make it the root file's `panic`: a panic fails the run with code panic and its message.
pub fn panic(message: []const u8, _: ?*std.builtin.StackTrace, _: ?usize) noreturn {
    end(.{ .code = "panic", .message = message });
}

/// How an activity or effect is attempted. 0 is the host's default everywhere; durations are milliseconds.
pub const Options = struct {
    module: []const u8 = "",
    timeout_ms: i64 = 0,
    total_timeout_ms: i64 = 0,
    attempts: i32 = 0,
    backoff_ms: i64 = 0,
    factor: f64 = 0,
    max_backoff_ms: i64 = 0,
    /// Failure codes that end it at once.
    non_retryable: ?[]const []const u8 = null,

    fn encoded(o: Options) []const u8 {
        const retry = .{
            .attempts = given(i32, o.attempts),
            .backoff_ms = given(i64, o.backoff_ms),
            .factor = given(f64, o.factor),
            .max_backoff_ms = given(i64, o.max_backoff_ms),
            .non_retryable = o.non_retryable,
        };
        const text = encode(.{
            .module = if (o.module.len > 0) o.module else null,
            .timeout_ms = given(i64, o.timeout_ms),
            .total_timeout_ms = given(i64, o.total_timeout_ms),
            .retry = if (encode(retry).len > "{}".len) retry else null,
        });
        return if (text.len > "{}".len) text else "";
    }

    fn given(comptime T: type, value: T) ?T {
        return if (value == 0) null else value;
    }
};

/// Something that was asked for and will give a T.
pub fn Request(comptime T: type) type {
    return struct {
        handle: i32,

        /// Waits for the outcome and drops the handle. When the run is cancelled first, the request is given up.
        pub fn get(self: @This()) Error!T {
            if (!done(self.handle)) _ = waitAny(&.{self.handle}, -1) catch |e| {
                self.giveUp();
                return e;
            };
            defer abi.drop(self.handle);
            const status = abi.status(self.handle);
            const payload = pull(abi.result, .{self.handle});
            if (status != ok) return fail(failureOf(status, payload));
            return decode(T, payload) catch fail(.{ .code = "invalid_output", .message = "the outcome is not a " ++ @typeName(T), .retryable = false });
        }

        /// Cancels what is pending and drops the handle.
        pub fn giveUp(self: @This()) void {
            abi.drop(self.handle);
        }
    };
}

fn failureOf(status: i32, payload: []const u8) Failure {
    return decode(Failure, payload) catch .{
        .code = if (status == was_cancelled) "cancelled" else if (status == timed_out) "timeout" else "error",
        .message = payload,
    };
}

/// Asks at once; it leaves at the next wait.
pub fn activity(comptime Out: type, name: []const u8, in: anytype, options: Options) Request(Out) {
    const payload = encode(in);
    const opts = options.encoded();
    return .{ .handle = abi.activity(name.ptr, name.len, payload.ptr, payload.len, opts.ptr, opts.len) };
}

pub fn effect(comptime Out: type, name: []const u8, in: anytype, options: Options) Request(Out) {
    const payload = encode(in);
    const opts = options.encoded();
    return .{ .handle = abi.effect(name.ptr, name.len, payload.ptr, payload.len, opts.ptr, opts.len) };
}

/// module is a workflow name or a digest; null is the run's own. A child that is abandoned goes on when its handle is given up, and when
/// this run ends.
pub const ChildOptions = struct { module: ?[]const u8 = null, abandon: ?bool = null };

/// A run of its own, which ends when this one does unless it is abandoned. Not from an activity.
pub fn child(comptime Out: type, workflow: []const u8, in: anytype, options: ChildOptions) Request(Out) {
    const payload = encode(in);
    const text = encode(options);
    const opts = if (text.len > "{}".len) text else "";
    return .{ .handle = abi.child(workflow.ptr, workflow.len, payload.ptr, payload.len, opts.ptr, opts.len) };
}

pub const Header = struct { name: []const u8, value: []const u8 };

/// The method is GET by default, or POST when there is a body, which may be any bytes.
pub const HttpRequest = struct { url: []const u8, method: []const u8 = "", headers: []const Header = &.{}, body: ?[]const u8 = null };

/// What came back; headers is an object with names in lower case.
pub const HttpResponse = struct {
    status: u16,
    headers: ?Json = null,
    body: []const u8 = "",

    /// Fails with code http_status when the status is 400 or more; worth another attempt for 408 and 5xx only.
    pub fn check(self: HttpResponse) Error!void {
        if (self.status < 400) return;
        const start = self.body[0..@min(self.body.len, 4096)];
        return fail(.{
            .code = "http_status",
            .message = std.fmt.allocPrint(allocator, "the server answered with status {d}", .{self.status}) catch exhausted(),
            .retryable = if (self.status < 500 and self.status != 408) false else null,
            .details = .{ .text = encode(.{ .status = self.status, .body = if (std.unicode.utf8ValidateSlice(start)) start else "" }) },
        });
    }
};

/// One exchange by the host, which sends an Idempotency-Key that is the same in every attempt. docs/EFFECTS.md says what it refuses and
/// how requests fail.
pub fn http(r: HttpRequest, options: Options) struct {
    handle: i32,

    pub fn get(self: @This()) Error!HttpResponse {
        const Wire = struct { status: u16, headers: ?Json = null, body: []const u8 = "", body_base64: ?[]const u8 = null };
        const wire = try (Request(Wire){ .handle = self.handle }).get();
        var response = HttpResponse{ .status = wire.status, .headers = wire.headers, .body = wire.body };
        if (wire.body_base64) |packed_body| {
            const decoder = std.base64.standard.Decoder;
            const n = decoder.calcSizeForSlice(packed_body) catch return notBase64();
            const bytes = allocator.alloc(u8, n) catch exhausted();
            decoder.decode(bytes, packed_body) catch return notBase64();
            response.body = bytes;
        }
        return response;
    }
} {
    var headers = std.json.ArrayHashMap([]const u8){};
    for (r.headers) |h| headers.map.put(allocator, h.name, h.value) catch exhausted();
    const body = r.body orelse "";
    const text = std.unicode.utf8ValidateSlice(body);
    const input = .{
        .method = if (r.method.len > 0) r.method else if (r.body != null) "POST" else "GET",
        .url = r.url,
        .headers = headers,
        .body = if (text) r.body else null,
        .body_base64 = if (text) null else base64(body),
    };
    return .{ .handle = effect(Json, "http.request", input, options).handle };
}

fn base64(bytes: []const u8) ?[]const u8 {
    const encoder = std.base64.standard.Encoder;
    return encoder.encode(allocator.alloc(u8, encoder.calcSize(bytes.len)) catch exhausted(), bytes);
}

fn notBase64() Error {
    return fail(.{ .code = "invalid_output", .message = "the body of the response is no base64", .retryable = false });
}

pub fn timer(nanoseconds: i64) Request(void) {
    return .{ .handle = abi.timer(nanoseconds) };
}

/// The next signal of that name.
pub fn signal(comptime T: type, name: []const u8) Request(T) {
    return .{ .handle = abi.signal(name.ptr, name.len) };
}

pub fn sleep(nanoseconds: i64) Error!void {
    return timer(nanoseconds).get();
}

var told = false; // whether error.Cancelled was returned

fn done(handle: i32) bool {
    return abi.status(handle) != pending;
}

/// The index of a handle, for what the host says is done; else of any that is done: a cancellation does not hide it.
fn which(handles: []const i32, said: i32) ?usize {
    for (handles, 0..) |h, i| if (if (said != cancellation) h == said else done(h)) return i;
    return null;
}

/// Waits until one of the handles is done, and gives its index; of several, that which the host names, the same in every replay. The
/// timeout is in nanoseconds, -1 for none; 0 only looks.
pub fn waitAny(handles: []const i32, timeout: i64) Error!usize {
    const set = allocator.alloc(i32, handles.len + 1) catch exhausted();
    defer allocator.free(set);
    @memcpy(set[0..handles.len], handles);
    set[handles.len] = cancellation;
    var ready: [1]i32 = undefined;
    if (abi.wait(set.ptr, if (told) handles.len else set.len, timeout, &ready, 1) == 0) return error.Timeout;
    if (which(handles, ready[0])) |i| return i;
    told = true;
    return error.Cancelled;
}

/// Waits until all are done, well or not.
pub fn waitAll(handles: []const i32) Error!void {
    const left = allocator.alloc(i32, handles.len) catch exhausted();
    defer allocator.free(left);
    var n: usize = 0;
    for (handles) |h| if (!done(h)) {
        left[n] = h;
        n += 1;
    };
    while (n > 0) {
        const i = try waitAny(left[0..n], -1);
        n -= 1;
        std.mem.copyForwards(i32, left[i..n], left[i + 1 .. n + 1]);
    }
}

/// Whether the run's cancellation was seen.
pub fn cancelled() bool {
    return told or done(cancellation);
}

/// Nanoseconds since 1970, of the last thing seen; moves only at waits.
pub fn now() i64 {
    return abi.now();
}

/// The same in every replay; not for secrets.
pub fn random(comptime T: type) T {
    var bytes: [@sizeOf(T)]u8 = undefined;
    abi.random(&bytes, bytes.len);
    return @bitCast(bytes);
}

pub const Info = struct {
    run: []const u8 = "",
    tenant: []const u8 = "",
    workflow: []const u8 = "",
    key: []const u8 = "",
    module: []const u8 = "",
    attempt: i32 = 0,
};

/// Which run this is; attempt counts from 1 in an activity.
pub fn info() Info {
    return decode(Info, pull(abi.info, .{})) catch @panic("the host says of the run what is no JSON object");
}

/// A value that readers of the run see.
pub fn publish(key: []const u8, value: anytype) void {
    const payload = encode(value);
    abi.publish(key.ptr, key.len, payload.ptr, payload.len);
}

pub const Level = enum(i32) { debug, info, warn, err };

/// A line of the run's log; silent in replay.
pub fn log(level: Level, comptime format: []const u8, args: anytype) void {
    const line = std.fmt.allocPrint(allocator, format, args) catch exhausted();
    defer allocator.free(line);
    abi.log(@intFromEnum(level), line.ptr, line.len);
}

/// The run ends with this and its successor begins with the input: `return reprise.continueAsNew(input);`
pub fn continueAsNew(in: anytype) error{Continued} {
    const payload = encode(in);
    abi.continue_as_new(payload.ptr, payload.len);
    return error.Continued;
}

/// What only the host knows the length of: the first call says how much there is.
fn pull(comptime read: anytype, args: anytype) []u8 {
    const n: usize = @intCast(@call(.auto, read, args ++ .{ @as(?[*]u8, null), @as(usize, 0) }));
    const bytes = allocator.alloc(u8, n) catch exhausted();
    if (n > 0) _ = @call(.auto, read, args ++ .{ @as(?[*]u8, bytes.ptr), n });
    return bytes;
}

const Kind = enum { workflow, activity, query };

/// What the module offers: the structs workflows, activities and, if any, queries, of functions that take nothing or one value and return
/// a value or an error. A query is answered by a copy of a run that waits, which has what the workflow left in memory; it may ask for
/// nothing.
pub fn module(comptime offers: anytype) void {
    const entries = struct {
        fn run() callconv(.C) i32 {
            return switch (abi.entry_kind()) {
                0 => enter(offers.workflows, .workflow),
                1 => enter(offers.activities, .activity),
                else => describe(offers),
            };
        }
        fn query() callconv(.C) i32 {
            return enter(offers.queries, .query);
        }
    };
    @export(entries.run, .{ .name = "reprise_run" });
    if (@hasField(@TypeOf(offers), "queries")) @export(entries.query, .{ .name = "reprise_query" });
}

fn names(comptime functions: anytype) []const []const u8 {
    comptime var all: []const []const u8 = &.{};
    inline for (std.meta.fields(@TypeOf(functions))) |f| all = all ++ .{f.name};
    return all;
}

fn describe(comptime offers: anytype) i32 {
    const text = encode(.{ .sdk = "zig", .workflows = names(offers.workflows), .activities = names(offers.activities) });
    abi.output(text.ptr, text.len);
    return 0;
}

fn enter(comptime functions: anytype, comptime kind: Kind) i32 {
    const fields = std.meta.fields(@TypeOf(functions));
    const name = pull(abi.entry, .{});
    inline for (fields) |f| {
        if (std.mem.eql(u8, name, f.name) or (kind == .workflow and name.len == 0 and fields.len == 1)) {
            if (kind != .query) _ = abi.cancel_handle();
            return answer(@field(functions, f.name));
        }
    }
    tell(.{ .code = "unknown_" ++ @tagName(kind), .message = "the module has none of that name", .retryable = false });
    return 1;
}

fn answer(comptime function: anytype) i32 {
    const params = @typeInfo(@TypeOf(function)).Fn.params;
    const returned = if (params.len == 0) function() else called: {
        const in = decode(params[0].type.?, pull(abi.input, .{})) catch {
            tell(.{ .code = "invalid_input", .message = "the input is not a " ++ @typeName(params[0].type.?), .retryable = false });
            return 1;
        };
        break :called function(in);
    };
    const value = if (@typeInfo(@TypeOf(returned)) == .ErrorUnion) returned catch |e| return ended(e) else returned;
    const text = if (@TypeOf(value) == void) "null" else encode(value);
    abi.output(text.ptr, text.len);
    return 0;
}

fn ended(e: anyerror) i32 {
    switch (e) {
        error.Continued => return 0,
        error.Failed => tell(last),
        error.Cancelled => tell(.{ .code = "cancelled", .message = "the run was cancelled" }),
        error.Timeout => tell(.{ .code = "timeout", .message = "a wait took too long" }),
        error.OutOfMemory => tell(.{ .code = "out_of_memory", .message = "the program took all the memory that it may have" }),
        else => tell(.{ .code = "error", .message = @errorName(e) }),
    }
    return 1;
}
