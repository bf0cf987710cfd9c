// The program of internal/e2e's tests of TypeScript: each way in which a workflow may wait, and what it finds around it.
import { activity, Failure, http, info, isCancelled, nonRetryable, publish, query, signal, sleep, within, workflow, type Context } from "reprise";
import { boom } from "./lib/boom";

const double = activity("double", async (n: number) => n * 2);
const hang = activity("hang", async () => sleep("1h"), { timeout: "2h" });
const decline = activity("decline", async (why: string) => {
  throw nonRetryable(new Failure("declined", why, { details: { limit: 9 } }));
}, { retry: { attempts: 5, backoff: 1 } });
const flaky = activity("flaky", async () => {
  const { attempt = 0 } = info();
  if (attempt < 3) throw new Error(`attempt ${attempt}`);
  return attempt;
}, { retry: { attempts: 5, backoff: "1ms" } });

interface Flow { first: number[]; all: number[]; race: string; caught: unknown; flaky: number; timer: string; signals: string[] }

// flow waits in every way, one after another, so that its journal is the same whatever crashes.
workflow("flow", async (input: { from: number }): Promise<Flow> => {
  const first = [await double(input.from)];
  first.push(await double(first[0]!));
  const all = await Promise.all([1, 2, 3].map((n) => double(n)));

  const losers = new AbortController();
  const race = await Promise.race([hang(undefined, { signal: losers.signal }).then(() => "hang"), sleep("20ms").then(() => "timer")]);
  losers.abort();

  let caught: unknown;
  try {
    await decline("no money");
  } catch (e) {
    if (!(e instanceof Failure)) throw e;
    caught = { code: e.code, message: e.message, details: e.details };
  }
  const attempts = await flaky(null);
  const before = Date.now();
  const timer = await new Promise<string>((resolve) => setTimeout(() => resolve(Date.now() - before >= 30 ? "late enough" : "too early"), 30));
  publish("stage", "signals");
  const signals = [await signal<string>("go"), await signal<string>("go")];
  return { first, all, race, caught, flaky: attempts, timer, signals };
});

// cancelled waits to be cancelled, and undoes.
workflow("cancelled", async (_: unknown, run: Context) => {
  try {
    await signal("never");
  } catch (e) {
    publish("undone", { by: await double(21), cancelled: isCancelled(e), aborted: run.signal.aborted });
    throw e;
  }
});

workflow("within", async () => {
  try {
    await within("20ms", (signal) => hang(undefined, { signal }));
  } catch (e) {
    return (e as Failure).code;
  }
});

workflow("aborts", async () => {
  const reasons: string[] = [];
  for (const signal of [AbortSignal.timeout(10), AbortSignal.abort(new Error("mine")), AbortSignal.any([AbortSignal.timeout(5)])]) {
    await sleep("1h", { signal }).catch((e) => reasons.push(`${e.name}: ${e.message}`));
  }
  return reasons;
});

workflow("broken", async () => {
  await sleep(1);
  boom(null);
});

workflow("overflows", async () => {
  const deep = (n: number): number => deep(n + 1) + 1;
  try {
    return deep(0);
  } catch (e) {
    return (e as Error).name;
  }
});

workflow("floats", async () => {
  (async () => { throw new Error("lost"); })();
  const late = Promise.reject(new Error("waited for in time"));
  await Promise.resolve();
  try {
    await late;
  } catch (e) {
    return (e as Error).message;
  }
});

workflow("stuck", () => new Promise(() => {}));

workflow("draws", async () => {
  const drawn = { random: Math.random(), uuid: crypto.randomUUID(), at: new Date().toISOString() };
  await double(Math.floor(drawn.random * 1e9)); // a replay that draws otherwise does not match its journal
  return drawn;
});

workflow("fetches", async (url: string) => {
  try {
    await http({ url, json: { "é": 1 } });
  } catch (e) {
    return (e as Failure).code;
  }
});

workflow("ticks", async () => {
  let n = 0;
  await new Promise<void>((done) => {
    const id = setInterval(() => {
      if (++n === 3) clearInterval(id), done();
    }, 5);
    clearTimeout(setTimeout(() => { n = 100; }, 1));
  });
  return n;
});

// long holds values of many kinds over many waits, for tests that freeze it in each.
workflow("long", async (waits: number) => {
  const drawn: number[] = [], seen = new Map<number, string>(), started = new Date();
  const count = (function* () { for (let i = 0; ; i++) yield i; })();
  for (let i = 0; i < waits; i++) {
    await sleep(5);
    drawn.push(Math.random());
    seen.set(count.next().value!, `wait ${i}`);
  }
  return [new Set(drawn).size, seen.get(waits - 1), Date.now() - started.getTime() >= 5 * waits];
});

workflow("globals", () => {
  console.log("a line", { of: ["the", "log"] }, new Map([[1, 2n]]));
  const cyclic: any = { date: new Date(0), map: new Map([[1, new Set([2])]]), bytes: new Uint8Array([1, 2]) };
  cyclic.self = cyclic;
  const cloned = structuredClone(cyclic);
  let refused = "";
  try {
    structuredClone(() => 1);
  } catch (e) {
    refused = (e as Error).name;
  }
  return {
    utf8: [...new TextEncoder().encode("é😀\ud800")],
    text: new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80, 0xff, 0xe2, 0x82])),
    clone: [cloned !== cyclic, cloned.self === cloned, cloned.date.getTime(), cloned.map.get(1).has(2), [...cloned.bytes]],
    refused,
    uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),
    base64: [btoa("\u00ffab"), atob("/2Fi").length],
    zone: new Date(0).getTimezoneOffset(),
    language: [[3, 1, 2].toSorted(), Object.groupBy(["a", "bb"], (s) => s.length), 2n ** 70n === 1180591620717411303424n],
  };
});

const reversed = activity("reversed", (bytes: Uint8Array) => bytes.toReversed(), { input: "bytes", as: "bytes" });

// bytes passes what is no text as it is.
workflow("bytes", async (input: Uint8Array) => {
  publish("bytes", input.subarray(1, 3));
  return await reversed(await reversed(input) as Uint8Array);
}, { input: "bytes" });

const echo = activity("echo", (value: unknown) => value);

// exact passes integers that no number holds.
workflow("exact", async (input: { n: unknown }) => {
  const back = await echo(input) as { n: bigint };
  return [typeof back.n, back.n + 1n, await echo(2n ** 70n), await echo([1e21, 0.1234567890123456789, -12, "9007199254740993"])];
});

// utf8 decodes what is nearly UTF-8 as browsers do.
workflow("utf8", () => {
  const decode = (...bytes: number[]): string => new TextDecoder().decode(new Uint8Array(bytes));
  const encoded = (s: string): number[] => [...new TextEncoder().encode(s)];
  return [decode(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80), decode(0xc0, 0x80), decode(0xef, 0xbf, 0xbd), decode(0xf4, 0x90, 0x80, 0x80),
    decode(), decode(0, 65), encoded("\udc00a\ud83d"), encoded(""), encoded("\0é")];
});

workflow("urls", () => {
  const base = new URL("HTTP://h:80/a/b?q"), changed = new URL("http://h/?a=1");
  changed.searchParams.append("b", "é ");
  let refused = "";
  try {
    new URL("no/base");
  } catch (e) {
    refused = (e as Error).name;
  }
  return [new URL("./c?x=1&y=é#z", base), `https://h:8/q?${new URLSearchParams([["a", " b"], ["a", "&"]])}`, new URL("http://0x7f.1"), changed, refused,
    changed.constructor.name];
});

// stops gives up what it asked for before anything comes of it, and tells apart who stopped it.
workflow("stops", async () => {
  const mine = new AbortController(), seen: unknown[] = [];
  setTimeout(() => mine.abort(), 5);
  await hang(undefined, { signal: mine.signal }).catch((e) => seen.push(e.name));
  await sleep("1h", { signal: AbortSignal.any([AbortSignal.abort(new Error("mine"))]) }).catch((e) => seen.push(e.message));
  try {
    mine.signal.throwIfAborted();
  } catch (e) {
    seen.push(e === mine.signal.reason);
  }
  return seen;
});

// browse uses fetch as a library would.
workflow("browse", async (site: string) => {
  const moved = await fetch(new URL("/moved", site), { method: "POST", body: new URLSearchParams({ "a b": "é" }), headers: { "X-Test": "1" } });
  const bytes = await fetch(`${site}/bytes`, { method: "PUT", body: new Uint8Array([0, 255]) });
  const busy = await fetch(`${site}/busy`);
  const left = await fetch(`${site}/moved`, { redirect: "manual" });
  const failures: string[] = [];
  for (const init of [{ redirect: "error" as const }, { signal: AbortSignal.abort(new Error("no")) }]) {
    await fetch(`${site}/moved`, init).catch((e) => failures.push(e.message.replace(site, "SITE")));
  }
  await fetch("http://elsewhere.test/").catch((e) => failures.push((e as Failure).code));
  return {
    moved: [moved.ok, moved.redirected, moved.url.replace(site, "SITE"), moved.headers.get("X-Answer"), await moved.json()],
    bytes: [...await bytes.bytes()], busy: [busy.status, busy.ok, await busy.text()], left: [left.status, left.headers.get("location")], failures,
  };
});

// asked keeps a sum and shows it to whoever asks while it waits.
workflow("asked", async () => {
  const seen: number[] = [];
  query("sum", (from: number = 0) => ({ sum: seen.reduce((a, b) => a + b, from), at: Date.now() > 0 }));
  query("breaks", () => { seen.length = 0; throw new Failure("no_answer", "ask something else"); });
  query("waits", async () => 1);
  query("asks", () => { void signal("add"); });
  while (seen.length < 3) seen.push(await signal<number>("add"));
  return seen;
});
