import {
  activity, child, continueAsNew, Failure, fail, HOUR, MILLISECOND, now, ok, Options, publish, Request, Result, signal, sleep, timer, Value,
  waitAll, waitAny, Writer,
} from "../assembly";

const impatient = Options.retry(5, MILLISECOND);

export function sequential(n: i64): Result<i64> {
  let v: i64 = 1;
  for (let i: i64 = 0; i < n; i++) {
    const doubled = activity<i64, i64>("double", v).wait();
    if (!doubled.ok) return doubled;
    v = doubled.value;
  }
  return ok<i64>(v);
}

export function parallel(_: Value): Result<Array<i64>> {
  const asked: Array<Request<i64>> = [];
  for (let n: i64 = 1; n <= 3; n++) asked.push(activity<i64, i64>("double", n));
  waitAll([asked[0], asked[1], asked[2]]);
  const all: Array<i64> = [];
  for (let i = 0; i < asked.length; i++) {
    const doubled = asked[i].wait();
    if (!doubled.ok) return doubled.failed<Array<i64>>();
    all.push(doubled.value);
  }
  return ok<Array<i64>>(all);
}

export function race(_: Value): Result<string> {
  const hang = activity<Value, Value>("hang", Value.null(), Options.within(2 * HOUR)), slept = timer(20 * MILLISECOND);
  const first = waitAny([hang, slept]);
  hang.cancel();
  return ok<string>(first == 1 ? "timer" : "hang");
}

export function caught(_: Value): Result<Value> {
  const declined = activity<string, Value>("decline", "no money", impatient).wait();
  if (declined.ok) return fail<Value>(new Failure("error", "got an outcome, want a failure"));
  const f = declined.failure, details = f.details;
  return ok<Value>(Value.object().set("code", Value.string(f.code)).set("message", Value.string(f.message)).set("details", details == null ? Value.null() : details));
}

export function flaky(_: Value): Result<i64> { return activity<Value, i64>("flaky", Value.null(), impatient).wait(); }

export function timed(_: Value): Result<bool> {
  const began = now();
  const slept = sleep(30 * MILLISECOND);
  return slept.ok ? ok<bool>(now() - began >= 30 * MILLISECOND) : slept.failed<bool>();
}


export function signals(_: Value): Result<Array<Value>> {
  publish<string>("stage", "waiting");
  const all: Array<Value> = [];
  for (let i = 0; i < 2; i++) {
    const payload = signal<Value>("go").wait();
    if (!payload.ok) return payload.failed<Array<Value>>();
    all.push(payload.value);
  }
  return ok<Array<Value>>(all);
}

export class Child {
  constructor(public child: i64 = 0) {}

  toJson(w: Writer): void { w.object().key("child").int(this.child).end(); }
}

export function children(n: i64): Result<Child> {
  const v = child<i64, i64>("sequential", n).wait();
  return v.ok ? ok<Child>(new Child(v.value)) : v.failed<Child>();
}

export function again(n: i64): Result<string> {
  if (n == 0) return ok<string>("done");
  const doubled = activity<i64, i64>("double", n).wait();
  return doubled.ok ? continueAsNew<i64, string>(n - 1) : doubled.failed<string>();
}

export function cleanup(_: Value): Result<Value> {
  const ended = signal<Value>("never").wait();
  if (!ended.ok && ended.failure.isCancelled) {
    const undone = activity<i64, i64>("double", 21).wait();
    if (!undone.ok) return undone.failed<Value>();
    publish<i64>("undone", undone.value);
  }
  return ended;
}

export function large(_: Value): Result<Value> {
  const text = activity<i32, string>("repeat", 1048576).wait();
  if (!text.ok) return text.failed<Value>();
  const length = activity<string, i64>("length", text.value).wait();
  return length.ok ? ok<Value>(Value.object().set("length", Value.int(length.value))) : length.failed<Value>();
}

// What the compiler does not compute.
let nothing: f64 = 0;

export function numbers(_: Value): Result<Value> {
  const big = activity<i64, i64>("echo", 9007199254740993).wait();
  if (!big.ok) return big.failed<Value>();
  nothing = <f64>(big.value - big.value);
  const bits = reinterpret<u64>(nothing / nothing);
  return ok<Value>(Value.object().set("big", Value.int(big.value)).set("nan", Value.string(bits.toString(16).padStart(16, "0"))));
}

export function unicode(_: Value): Result<string> { return activity<string, string>("echo", "é 😀 日本 \"quoted\" \\ \n").wait(); }

// What it adds after the call keeps the compiler from making a loop of it.
function sum(n: i64): i64 { return n == 0 ? 0 : n + sum(n - 1); }

export function deep(n: i64): Result<i64> { return ok<i64>(sum(n)); }

export function overflow(_: Value): Result<i64> { return ok<i64>(sum(-1)); }

export function hungry(_: Value): Result<Value> {
  const all: Array<ArrayBuffer> = [];
  while (true) all.push(new ArrayBuffer(1 << 20));
}

export function panics(_: Value): Result<Value> {
  const slept = sleep(MILLISECOND);
  if (!slept.ok) return slept;
  throw new Error("boom");
}
