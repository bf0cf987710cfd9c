import { Controller, timers } from "./abort";
import { Failure } from "./failure";
import * as host from "./host";
import { add, forget, request, type RequestOptions } from "./requests";

/** A number of milliseconds, or a text such as "90s", "5m", "1.5h", "30d". */
export type Duration = number | string;

const units: Record<string, number> = { ms: 1, s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 };

/** milliseconds reads a duration. */
export function milliseconds(d: Duration): number {
  if (typeof d === "number" && !Number.isNaN(d)) return d;
  const [, n, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(d)) ?? [];
  if (unit === undefined) throw new TypeError(`${JSON.stringify(d)} is no duration; milliseconds, or a text such as "90s", "5m", "2h", "30d"`);
  return Number(n) * units[unit]!;
}

function timer(ms: number): number {
  return host.timer(Math.max(0, Math.ceil(ms * 1e6)));
}

/** sleep waits, however long; the host may be restarted meanwhile. */
export function sleep(d: Duration, options?: RequestOptions): Promise<void> {
  const ms = milliseconds(d);
  return request(() => timer(ms), { signal: options?.signal });
}

type Callback = (...args: any[]) => void;

/** The number that a timer of setInterval goes by stays that of its first handle. */
const intervals = new Map<number, number>();

function after(ms: unknown, then: Callback, args: unknown[] = []): number {
  const handle = timer(Number(ms) || 0);
  add(handle, { done: () => run(then, args) });
  return handle;
}

/** run calls a callback; what it throws has nobody to go to but the log. */
function run(f: Callback, args: unknown[]): void {
  try {
    f(...args);
  } catch (e) {
    console.error("a timer's callback threw:", e);
  }
}

export function setTimeout(f: Callback, ms?: number, ...args: unknown[]): number {
  return after(ms, f, args);
}

export function setInterval(f: Callback, ms?: number, ...args: unknown[]): number {
  const every = Math.max(1, Number(ms) || 0); // never 0: that would not let time pass
  let id = 0;
  const again = (): void => {
    intervals.set(id, after(every, again));
    run(f, args);
  };
  id = after(every, again);
  intervals.set(id, id);
  return id;
}

export function clearTimeout(id?: number): void {
  if (typeof id !== "number") return;
  forget(intervals.get(id) ?? id);
  intervals.delete(id);
}

timers.after = (ms, then) => { after(ms, then); };

/** within gives up what it is given when that takes longer: `within("30s", (signal) => charge(order, { signal }))`. */
export async function within<T>(d: Duration, f: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new Controller();
  const id = setTimeout(() => controller.abort(new Failure("timeout", `it took longer than ${d}`)), milliseconds(d));
  try {
    return await f(controller.signal);
  } finally {
    clearTimeout(id);
  }
}
