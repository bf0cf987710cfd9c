import * as host from "./host";

type Listener = (event: { type: "abort" }) => void;

/** Timers come from where requests are kept, which needs this file first. */
export const timers = { after(_milliseconds: number, _then: () => void): void {} };

function named(name: string, message: string): Error {
  const e = new Error(message);
  e.name = name;
  return e;
}

const secret = Symbol("abort");

/** Signal is AbortSignal as in browsers, without the rest of EventTarget. Its timeout is a durable timer. */
export class Signal implements AbortSignal {
  #reason: unknown = undefined;
  #aborted = false;
  #listeners = new Map<Listener, { once: boolean }>();
  onabort: Listener | null = null;

  static abort(reason?: unknown): Signal {
    const s = new Signal();
    s[secret](reason);
    return s;
  }

  static timeout(milliseconds: number): Signal {
    const s = new Signal();
    timers.after(milliseconds, () => s[secret](named("TimeoutError", "The operation timed out.")));
    return s;
  }

  static any(signals: Iterable<AbortSignal>): Signal {
    const s = new Signal();
    for (const one of signals) {
      if (one.aborted) s[secret](one.reason);
      else one.addEventListener("abort", () => s[secret](one.reason), { once: true });
    }
    return s;
  }

  get aborted(): boolean { return this.#aborted; }
  get reason(): any { return this.#reason; }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(type: "abort", listener: Listener, options: { once?: boolean } | boolean = {}): void {
    if (type === "abort" && !this.#listeners.has(listener)) {
      this.#listeners.set(listener, { once: typeof options === "object" && options.once === true });
    }
  }

  removeEventListener(type: "abort", listener: Listener): void {
    if (type === "abort") this.#listeners.delete(listener);
  }

  [secret](reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason === undefined ? named("AbortError", "This operation was aborted") : reason;
    const all = [...this.#listeners.keys()];
    if (this.onabort) all.unshift(this.onabort);
    this.#listeners.clear(); // it aborts once
    for (const l of all) {
      try {
        const event = { type: "abort" as const, target: this, currentTarget: this };
        l.call(this, event);
      } catch (e) {
        host.log(2, `an abort listener threw: ${e}`);
      }
    }
  }
}

/** Controller is AbortController as in browsers. */
export class Controller implements AbortController {
  readonly signal = new Signal();
  abort(reason?: unknown): void { this.signal[secret](reason); }
}
