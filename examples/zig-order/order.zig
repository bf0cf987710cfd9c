//! An order in Zig: stock and payment side by side, an approval that may take days, and an undoing when something fails.
const std = @import("std");
const reprise = @import("reprise");

pub const panic = reprise.panic;

const Order = struct { id: []const u8, amount: i64 };
const Approval = struct { by: []const u8 };
const Receipt = struct { order: []const u8, payment: []const u8, shipped: []const u8 };

const retried = reprise.Options{ .attempts = 5, .backoff_ms = 200 };

// Activities run outside the workflow, at least once, and are retried by policy. A real one would ask for http.request.

fn reserve(o: Order) ![]const u8 {
    return std.fmt.allocPrint(reprise.allocator, "stock-{s}", .{o.id});
}

fn pay(o: Order) ![]const u8 {
    if (o.amount > 10_000) return reprise.fail(.{ .code = "card_declined", .message = "that is too much", .retryable = false });
    return std.fmt.allocPrint(reprise.allocator, "payment-{s}", .{o.id});
}

fn release(stock: []const u8) void {
    reprise.log(.info, "released {s}", .{stock});
}

fn refund(payment: []const u8) void {
    reprise.log(.info, "refunded {s}", .{payment});
}

/// The next approval, within a week.
fn approved() !Approval {
    reprise.publish("stage", "waiting for approval");
    const signalled = reprise.signal(Approval, "approve");
    const week = reprise.timer(7 * std.time.ns_per_day);
    defer week.giveUp();
    const first = reprise.waitAny(&.{ signalled.handle, week.handle }, -1) catch |e| {
        signalled.giveUp();
        return e;
    };
    if (first == 0) return signalled.get();
    signalled.giveUp();
    return reprise.fail(.{ .code = "timeout", .message = "nobody approved the order within a week" });
}

fn text(seconds: i64) ![]const u8 {
    const at = std.time.epoch.EpochSeconds{ .secs = @intCast(seconds) };
    const year = at.getEpochDay().calculateYearDay();
    const month = year.calculateMonthDay();
    const day = at.getDaySeconds();
    return std.fmt.allocPrint(reprise.allocator, "{d:0>4}-{d:0>2}-{d:0>2}T{d:0>2}:{d:0>2}:{d:0>2}.000Z", .{
        year.year,
        month.month.numeric(),
        month.day_index + 1,
        day.getHoursIntoDay(),
        day.getMinutesIntoHour(),
        day.getSecondsIntoMinute(),
    });
}

const Booked = struct { stock: ?[]const u8 = null, payment: ?[]const u8 = null };

/// What is booked, as far as it was. An instance has one run, so what a query shows may be of the file.
var booked = Booked{};

fn show() Booked {
    return booked;
}

fn ship(o: Order) !Receipt {
    reprise.publish("stage", "booking");
    const stock = reprise.activity([]const u8, "reserve", o, retried);
    const payment = reprise.activity([]const u8, "pay", o, retried);
    const reserved = stock.get();
    const paid = payment.get();
    booked = .{ .stock = reserved catch null, .payment = paid catch null };
    _ = try reserved;
    _ = try paid;

    const yes = try approved();
    reprise.log(.info, "approved by {s}", .{yes.by});

    reprise.publish("stage", "packing");
    try reprise.sleep(2 * std.time.ns_per_s);
    return .{ .order = o.id, .payment = try paid, .shipped = try text(@divFloor(reprise.now(), std.time.ns_per_s)) };
}

fn order(o: Order) !Receipt {
    return ship(o) catch |e| {
        const why = reprise.failure(); // the run's, whatever comes of the undoing
        reprise.publish("stage", if (e == error.Cancelled) "cancelled" else "failed");
        // What is asked for after a cancellation works.
        if (booked.payment) |p| reprise.activity(void, "refund", p, retried).get() catch {};
        if (booked.stock) |s| reprise.activity(void, "release", s, retried).get() catch {};
        return if (e == error.Failed) reprise.fail(why) else e;
    };
}

comptime {
    reprise.module(.{
        .workflows = .{ .order = order },
        .activities = .{ .reserve = reserve, .release = release, .pay = pay, .refund = refund },
        .queries = .{ .booked = show },
    });
}
