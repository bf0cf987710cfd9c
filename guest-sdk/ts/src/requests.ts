import { Controller } from "./abort";
import { decode, Failure } from "./failure";
import * as host from "./host";
import { json } from "./json";

/** A request in flight: what becomes of its outcome. */
interface Open {
  done(status: number, handle: number): void;
  /** Set when the run's cancellation, or a signal, may end it before its time. */
  abort?(reason: unknown): void;
}

const open = new Map<number, Open>();

const cancellation = new Controller();

/** Aborted when the run is cancelled. */
export const runSignal: AbortSignal = cancellation.signal;

/** What every request takes. */
export interface RequestOptions {
  /** Gives the request up when it aborts; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** "bytes": the outcome is a Uint8Array of its bytes, whatever they are. Default: JSON. */
  as?: "bytes";
}

/** outcome reads the outcome of a handle that went well. */
export function outcome(handle: number, as?: "bytes"): any {
  if (as === "bytes") return new Uint8Array(host.resultBytes(handle));
  try {
    return json(host.result(handle));
  } catch (cause) {
    throw new Failure("invalid_output", `the outcome is not JSON: ${cause}`, { retryable: false, cause });
  }
}

/** request makes a promise of a handle. make is not called when the signal has aborted already. */
export function request<T>(make: () => number, options: RequestOptions | undefined): Promise<T> {
  const { signal, as } = options ?? {};
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const handle = make();
    const abort = (reason: unknown): void => {
      forget(handle);
      signal?.removeEventListener("abort", onAbort);
      reject(reason);
    };
    const onAbort = (): void => abort(signal!.reason);
    signal?.addEventListener("abort", onAbort);
    add(handle, {
      done(status, handle) {
        signal?.removeEventListener("abort", onAbort);
        if (status !== host.OK) return reject(decode(status, host.result(handle)));
        try {
          resolve(outcome(handle, as));
        } catch (e) {
          reject(e);
        }
      },
      abort,
    });
  });
}

/** add waits for a handle. */
export function add(handle: number, o: Open): void {
  open.set(handle, o);
  host.watch(handle);
}

/** forget gives a pending handle up, without a word to whoever waits for it. */
export function forget(handle: number): void {
  if (!open.delete(handle)) return;
  host.unwatch(handle);
  host.drop(handle); // cancels it
}

/** listen begins to serve the run's cancellation. */
export function listen(): void {
  host.watch(host.cancelHandle());
}

/** turn settles the handles that are ready. stuck is called when there are none and never will be. */
export function turn(stuck: () => void): void {
  let handle = host.take();
  if (handle < 0) stuck();
  for (; handle >= 0; handle = host.take()) settle(handle);
}

function settle(handle: number): void {
  host.unwatch(handle);
  if (handle === 0) return cancelled();
  const o = open.get(handle);
  if (!o) return; // it was given up by what came before it
  open.delete(handle);
  o.done(host.status(handle), handle);
  host.drop(handle);
}

/** cancelled ends what is waited for now. What is asked for later, such as a compensation, is not affected. */
function cancelled(): void {
  const reason = new Failure("cancelled", "the run is cancelled");
  const now = [...open.values()];
  cancellation.abort(reason);
  for (const o of now) o.abort?.(reason);
}
