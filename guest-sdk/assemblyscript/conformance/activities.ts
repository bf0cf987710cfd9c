import { fail, Failure, HOUR, info, ok, Result, sleep, Value } from "../assembly";

export function double(n: i64): Result<i64> { return ok<i64>(2 * n); }

export function echo(payload: ArrayBuffer): Result<ArrayBuffer> { return ok<ArrayBuffer>(payload); }

export function repeat(n: i32): Result<string> { return ok<string>("x".repeat(n)); }

export function length(text: string): Result<i32> { return ok<i32>(String.UTF8.byteLength(text)); }

export function hang(_: Value): Result<Value> { return sleep(HOUR); }

export function decline(why: string): Result<Value> {
  return fail<Value>(new Failure("declined", why).notRetryable().withDetails(Value.object().set("limit", Value.int(9))));
}

export function flaky(_: Value): Result<i32> {
  const attempt = info().attempt;
  return attempt < 3 ? fail<i32>(new Failure("failed", "attempt " + attempt.toString())) : ok<i32>(attempt);
}
