// Workflows that show what the SDK does with values and requests. sdk_test.go plays them.
import {
  activity, child, continueAsNew, defineActivity, encode, fail, Failure, Fields, HttpRequest, isCancelled, MILLISECOND, now, ok, Options, Pending,
  publish, query, Request, Result, SECOND, signal, sleep, timer, Value, waitAny, workflow, Writer,
} from "../assembly";

export { reprise_query, reprise_run } from "../assembly";

class Item {
  sku: u32 = 0;

  fromJson(f: Fields): void { this.sku = f.get<u32>("sku"); }

  toJson(w: Writer): void { w.object().key("sku").uint(this.sku).end(); }
}

class Order {
  id: string = "";
  amount: i64 = 0;
  note: string | null = null;
  items: Array<Item> = [];

  fromJson(f: Fields): void {
    this.id = f.get<string>("id");
    this.amount = f.get<i64>("amount");
    this.note = f.getOr<string | null>("note", null);
    this.items = f.get<Array<Item>>("items");
  }

  toJson(w: Writer): void {
    w.object().key("id").string(this.id).key("amount").int(this.amount);
    const note = this.note;
    if (note != null) w.key("note").string(note);
    w.key("items").array();
    for (let i = 0; i < this.items.length; i++) this.items[i].toJson(w);
    w.end().end();
  }
}

workflow<ArrayBuffer, Value>("value", (payload: ArrayBuffer): Result<Value> => {
  const v = Value.parse(String.UTF8.decode(payload));
  return v == null ? fail<Value>(new Failure("refused", "not JSON")) : ok<Value>(v);
});
workflow<Order, Order>("record", (order: Order): Result<Order> => ok<Order>(order));
workflow<i64, i64>("i64", (n: i64): Result<i64> => ok<i64>(n));
workflow<u64, u64>("u64", (n: u64): Result<u64> => ok<u64>(n));
workflow<i8, i8>("i8", (n: i8): Result<i8> => ok<i8>(n));
workflow<Array<f64>, Array<f64>>("floats", (all: Array<f64>): Result<Array<f64>> => ok<Array<f64>>(all));
workflow<Value, Array<f64>>("odd floats", (_: Value): Result<Array<f64>> => ok<Array<f64>>([NaN, -Infinity, -0.0, 1e300, 0.1]));
workflow<Array<bool>, Array<bool>>("booleans", (all: Array<bool>): Result<Array<bool>> => ok<Array<bool>>(all));
workflow<Value, string>("half", (_: Value): Result<string> => ok<string>(String.fromCharCode(0xd83d) + "x" + String.fromCharCode(0xde00)));

defineActivity<i64, i64>("double", (n: i64): Result<i64> => ok<i64>(2 * n));
defineActivity<Value, i64>("fails", (_: Value): Result<i64> => fail<i64>(new Failure("broken", "always").withDetails(Value.int(7)).notRetryable()));

workflow<Value, i64>("failure", (_: Value): Result<i64> => activity<Value, i64>("fails", Value.null(), Options.retry(3)).wait());
workflow<Value, string>("mismatch", (_: Value): Result<string> => activity<i64, string>("double", 1).wait());

// Three timers; the first that is due ends the others.
workflow<Value, Array<i64>>("race", (_: Value): Result<Array<i64>> => {
  const began = now();
  const timers: Array<Pending> = [timer(3 * SECOND), timer(SECOND), timer(2 * SECOND)];
  const first = waitAny(timers);
  for (let i = 0; i < timers.length; i++) if (i != first) timers[i].cancel();
  return ok<Array<i64>>([first, (now() - began) / SECOND]);
});

workflow<Value, string>("deadline", (_: Value): Result<string> => {
  const late = signal<string>("go").waitFor(SECOND);
  return late.ok ? late : ok<string>(late.failure.code + ", then " + signal<string>("go").waitFor(60 * SECOND).value);
});

// A look finds nothing before the signal comes, and what was sent after.
workflow<Value, Array<bool>>("look", (_: Value): Result<Array<bool>> => {
  const go = signal<Value>("go");
  const before = Pending.wait([go], 0);
  sleep(10 * SECOND);
  return ok<Array<bool>>([before, Pending.wait([go], 0), go.done]);
});

let stage: string = "begun";
query<string, string>("stage", (prefix: string): Result<string> => ok<string>(prefix + stage));

workflow<Value, i64>("cancelled", (_: Value): Result<i64> => {
  const kept = timer(5 * SECOND).shield(), other = activity<i64, i64>("double", 1);
  other.wait();
  const given = timer(5 * SECOND);
  stage = "waits";
  const ended = signal<Value>("never").wait();
  if (ended.ok || !ended.failure.isCancelled || !isCancelled()) return fail<i64>(new Failure("odd", "it was not cancelled"));
  if (given.wait().ok) return fail<i64>(new Failure("odd", "a timer went on"));
  if (!kept.wait().ok) return fail<i64>(new Failure("odd", "what is shielded was given up"));
  publish<i64>("undone", activity<i64, i64>("double", 21).wait().value);
  return fail<i64>(ended.failure);
});

workflow<Value, i64>("thrown", (_: Value): Result<i64> => {
  const all: Array<i64> = [];
  return ok<i64>(all[<i32>(now() % 1 + 1)]);
});

// More garbage than there is memory.
workflow<i32, i64>("garbage", (steps: i32): Result<i64> => {
  let total: i64 = 0;
  const text = "x".repeat(100000);
  for (let i = 0; i < steps; i++) {
    const payload = encode<string>(text);
    total += payload.byteLength;
    if (i % 100 == 99) sleep(MILLISECOND);
  }
  return ok<i64>(total);
});

workflow<i32, i64>("many", (n: i32): Result<i64> => {
  const asked: Array<Request<i64>> = [];
  for (let i = 0; i < n; i++) asked.push(activity<i64, i64>("double", i));
  let sum: i64 = 0;
  for (let i = 0; i < n; i++) sum += asked[i].wait().value;
  return ok<i64>(sum);
});

workflow<string, string>("http", (url: string): Result<string> => {
  const sent = new HttpRequest("POST", url).header("X-Team", "one").json<Array<i32>>([1, 2]).send().wait();
  if (!sent.ok) return sent.failed<string>();
  const checked = sent.value.check();
  return checked.ok ? ok<string>(checked.value.headers.get("a")!.text + " " + checked.value.body) : checked.failed<string>();
});

workflow<i64, string>("countdown", (n: i64): Result<string> => {
  const slept = sleep(SECOND);
  if (!slept.ok) return slept.failed<string>();
  return n > 0 ? continueAsNew<i64, string>(n - 1) : ok<string>("done");
});

workflow<i64, string>("parent", (n: i64): Result<string> => child<i64, string>("countdown", n).wait());
