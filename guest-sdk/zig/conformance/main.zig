//! The programs of guest-sdk/conformance/README.md.
const std = @import("std");
const reprise = @import("reprise");

pub const panic = reprise.panic;

const few_attempts = reprise.Options{ .attempts = 5, .backoff_ms = 1 };
const ms = std.time.ns_per_ms;

// Activities.

fn double(v: i64) i64 {
    return 2 * v;
}

fn echo(in: reprise.Json) reprise.Json {
    return in;
}

fn repeat(n: usize) ![]const u8 {
    const text = try reprise.allocator.alloc(u8, n);
    @memset(text, 'x');
    return text;
}

fn length(text: []const u8) usize {
    return text.len;
}

fn hang() !void {
    try reprise.sleep(std.time.ns_per_hour);
}

fn decline(message: []const u8) !void {
    return reprise.fail(.{ .code = "declined", .message = message, .retryable = false, .details = .{ .text = "{\"limit\":9}" } });
}

fn flaky() !i32 {
    const attempt = reprise.info().attempt;
    return if (attempt < 3) reprise.fail(.{ .code = "failed", .message = "not yet" }) else attempt;
}

// Workflows.

fn askDouble(v: i64) reprise.Request(i64) {
    return reprise.activity(i64, "double", v, .{});
}

fn sequential(n: i64) !i64 {
    var v: i64 = 1;
    var left = n;
    while (left > 0) : (left -= 1) v = try askDouble(v).get();
    return v;
}

fn parallel() ![3]i64 {
    var asked: [3]reprise.Request(i64) = undefined;
    var handles: [3]i32 = undefined;
    for (&asked, &handles, 1..) |*a, *h, i| {
        a.* = askDouble(@intCast(i));
        h.* = a.handle;
    }
    try reprise.waitAll(&handles);
    var values: [3]i64 = undefined;
    for (asked, &values) |a, *v| v.* = try a.get();
    return values;
}

fn race() ![]const u8 {
    const hung = reprise.activity(void, "hang", null, .{ .timeout_ms = 7200000 });
    const timed = reprise.timer(20 * ms);
    const winner = try reprise.waitAny(&.{ hung.handle, timed.handle }, -1);
    if (winner == 0) return "hang";
    hung.giveUp();
    return "timer";
}

const Caught = struct { code: []const u8, message: []const u8, details: ?reprise.Json };

fn caught() !Caught {
    reprise.activity(void, "decline", "no money", few_attempts).get() catch |e| {
        if (e != error.Failed) return e;
        const why = reprise.failure();
        return .{ .code = why.code, .message = why.message, .details = why.details };
    };
    return error.NotDeclined;
}

fn askFlaky() !i32 {
    return reprise.activity(i32, "flaky", null, few_attempts).get();
}

fn timer() !bool {
    const before = reprise.now();
    try reprise.sleep(30 * ms);
    return reprise.now() - before >= 30 * ms;
}

fn signals() ![2]reprise.Json {
    reprise.publish("stage", "waiting");
    var payloads: [2]reprise.Json = undefined;
    for (&payloads) |*p| p.* = try reprise.signal(reprise.Json, "go").get();
    return payloads;
}

fn child(n: i64) !struct { child: i64 } {
    return .{ .child = try reprise.child(i64, "sequential", n, .{}).get() };
}

fn again(n: i64) ![]const u8 {
    if (n == 0) return "done";
    _ = try askDouble(n).get();
    return reprise.continueAsNew(n - 1);
}

fn cleanup() !void {
    reprise.signal(void, "never").get() catch |e| {
        if (e == error.Cancelled) reprise.publish("undone", try askDouble(21).get());
        return e;
    };
}

fn large() !struct { length: i64 } {
    const text = try reprise.activity([]const u8, "repeat", 1048576, .{}).get();
    return .{ .length = try reprise.activity(i64, "length", text, .{}).get() };
}

fn numbers() !struct { big: i64, nan: []const u8 } {
    const big = try reprise.activity(i64, "echo", @as(i64, 9007199254740993), .{}).get();
    var zero: f64 = 0;
    std.mem.doNotOptimizeAway(&zero);
    const bits: u64 = @bitCast(zero / zero);
    return .{ .big = big, .nan = try std.fmt.allocPrint(reprise.allocator, "{x:0>16}", .{bits}) };
}

fn unicode() ![]const u8 {
    return reprise.activity([]const u8, "echo", "é 😀 日本 \"quoted\" \\ \n", .{}).get();
}

// What it adds after the call keeps the compiler from making a loop of it.
fn sum(n: i64) i64 {
    var here = n;
    std.mem.doNotOptimizeAway(&here);
    return if (n == 0) 0 else here +% @call(.never_inline, sum, .{n -% 1});
}

fn deep(n: i64) i64 {
    return sum(n);
}

fn overflow() i64 {
    return sum(-1);
}

fn hungry() !void {
    while (true) std.mem.doNotOptimizeAway((try reprise.allocator.alloc(u8, 1 << 20)).ptr);
}

fn panics() !void {
    try reprise.sleep(ms);
    @panic("boom");
}

comptime {
    reprise.module(.{
        .workflows = .{
            .sequential = sequential,
            .parallel = parallel,
            .race = race,
            .caught = caught,
            .flaky = askFlaky,
            .timer = timer,
            .signal = signals,
            .child = child,
            .again = again,
            .cleanup = cleanup,
            .large = large,
            .numbers = numbers,
            .unicode = unicode,
            .deep = deep,
            .overflow = overflow,
            .hungry = hungry,
            .panics = panics,
        },
        .activities = .{
            .double = double,
            .echo = echo,
            .repeat = repeat,
            .length = length,
            .hang = hang,
            .decline = decline,
            .flaky = flaky,
        },
    });
}
