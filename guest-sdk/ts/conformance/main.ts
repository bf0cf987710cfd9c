// The module conformance-ts.wasm: the programs of guest-sdk/conformance, in TypeScript.
import { activity, child, continueAsNew, Failure, info, nonRetryable, publish, signal, sleep, workflow } from "reprise";

const impatient = { retry: { attempts: 5, backoff: "1ms" } };

const double = activity("double", (n: number) => n * 2);
const echo = activity("echo", (value: unknown) => value);
const repeat = activity("repeat", (n: number) => "x".repeat(n));
const length = activity("length", (text: string) => new TextEncoder().encode(text).length);
const hang = activity("hang", async (_: null) => { await sleep("1h"); return null; }, { timeout: "2h" });
const decline = activity("decline", (why: string) => {
  throw nonRetryable(new Failure("declined", why, { details: { limit: 9 } }));
}, impatient);
const flaky = activity("flaky", (_: null) => {
  const { attempt = 0 } = info();
  if (attempt < 3) throw new Failure("failed", `attempt ${attempt}`);
  return attempt;
}, impatient);

workflow("sequential", async (n: number) => {
  let v = 1;
  for (let i = 0; i < n; i++) v = await double(v);
  return v;
});

workflow("parallel", () => Promise.all([1, 2, 3].map((n) => double(n))));

workflow("race", async () => {
  const loser = new AbortController();
  const won = await Promise.race([
    hang(null, { signal: loser.signal }).then(() => "hang"),
    sleep("20ms").then(() => "timer"),
  ]);
  loser.abort();
  return won;
});

workflow("caught", async () => {
  try {
    await decline("no money");
  } catch (e) {
    if (!(e instanceof Failure)) throw e;
    return { code: e.code, message: e.message, details: e.details };
  }
});

workflow("flaky", () => flaky(null));

workflow("timer", async () => {
  const began = Date.now();
  await sleep(30);
  return Date.now() - began >= 30;
});

workflow("signal", async () => {
  publish("stage", "waiting");
  return [await signal("go"), await signal("go")];
});

workflow("child", async (n: number) => ({ child: await child("sequential", n) }));

workflow("again", async (n: number) => {
  if (n === 0) return "done";
  await double(n);
  return continueAsNew(n - 1);
});

workflow("cleanup", async () => {
  try {
    await signal("never");
  } catch (e) {
    publish("undone", await double(21));
    throw e;
  }
});

workflow("large", async () => {
  const text = await repeat(1 << 20);
  return { length: await length(text) };
});

workflow("numbers", async () => {
  const big = await echo(2n ** 53n + 1n);
  const zero = Number(String(big).length) - 16; // which no bundler computes
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, zero / zero);
  return { big, nan: bits.getBigUint64(0).toString(16).padStart(16, "0") };
});

workflow("unicode", () => echo("é 😀 日本 \"quoted\" \\ \n"));

const sum = (n: number): number => n === 0 ? 0 : n + sum(n - 1);
workflow("deep", (n: number) => sum(n));

const endless = (n: number): number => endless(n + 1) + 1;
workflow("overflow", () => endless(1));

workflow("hungry", () => {
  for (const all: ArrayBuffer[] = [];;) all.push(new ArrayBuffer(1 << 20));
});

workflow("panics", async () => {
  await sleep(1);
  throw new Error("boom");
});
