import { Controller } from "./abort";
import { decode, Failure } from "./failure";
import * as host from "./host";

/** A request in flight: what becomes of its outcome. */
interface Open {
  done(status: number, payload: string): void;
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
}

/** request makes a promise of a handle. make is not called when the signal has aborted already. */
export function request<T>(make: () => number, options: RequestOptions | undefined, read: (payload: string) => T): Promise<T> {
  const { signal } = options ?? {};
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
      done(status, payload) {
        signal?.removeEventListener("abort", onAbort);
        if (status !== host.OK) return reject(decode(status, payload));
        try {
          resolve(read(payload));
        } catch (cause) {
          reject(new Failure("invalid_output", `the outcome is not JSON: ${cause}`, { retryable: false, cause }));
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
  const status = host.status(handle), payload = host.result(handle);
  host.drop(handle);
  o.done(status, payload);
}

/** cancelled ends what is waited for now. What is asked for later, such as a compensation, is not affected. */
function cancelled(): void {
  const reason = new Failure("cancelled", "the run is cancelled");
  const now = [...open.values()];
  cancellation.abort(reason);
  for (const o of now) o.abort?.(reason);
}
