import * as host from "./host";
import { decode, takeMismatch, zero } from "./convert";
import { Failure, failureOf } from "./failure";
import { fail, ok, Result } from "./result";

// Whether the run is cancelled, as far as the program has seen.
let cancelled: bool = false;

/** Whether the run is cancelled, as far as the program has seen: it sees that where it waits. */
export function isCancelled(): bool { return cancelled; }

/**
 * Something that was asked of the host, whatever it gives. When the run is cancelled, requests that were made before fail with
 * code cancelled, unless they are shielded. What is asked for afterwards is not affected, so that a program can undo.
 */
export abstract class Pending {
  // Whether the outcome was taken, which frees the handle.
  protected taken: bool = false;
  private ready: bool = false;
  private yields: bool = !cancelled;

  constructor(protected handle: i32) {}

  /** Whether there is something to be had without waiting. It changes only where the program waits. */
  get done(): bool { return this.taken || this.ready || this.yields && cancelled; }

  /** Lets the request go on when the run is cancelled. */
  protected keep(): void { this.yields = false; }

  /** Gives the request up; its outcome is then a failure of code cancelled. */
  cancel(): void {
    if (!this.taken) this.settle(new Failure("cancelled", "the request was given up"));
  }

  /** Waits for one of several, at most so long, -1 for ever, 0 to look. Returns whether the time has not passed. */
  static wait(all: Array<Pending>, nanoseconds: i64): bool {
    for (let i = 0; i < all.length; i++) if (all[i].done) return true;
    const run = <i32>!cancelled;
    const handles = new StaticArray<i32>(all.length + run);
    if (run) handles[0] = host.RUN;
    for (let i = 0; i < all.length; i++) handles[i + run] = all[i].handle;
    const ready = host.wait(handles, nanoseconds);
    for (let i = 0; i < ready.length; i++) {
      if (ready[i] == host.RUN) cancelled = true;
      for (let j = 0; j < all.length; j++) if (all[j].handle == ready[i]) all[j].ready = true;
    }
    return ready.length > 0;
  }

  /** Takes the outcome of what is done, once, and frees the handle. */
  protected take(): void {
    if (this.taken) return;
    if (!this.ready) {
      this.settle(new Failure("cancelled", "the run is cancelled"));
      return;
    }
    const bytes = host.result(this.handle), status = host.status(this.handle);
    if (status == host.OK) {
      this.taken = true;
      host.drop(this.handle);
      this.receive(bytes);
    } else {
      this.settle(failureOf(status, bytes));
    }
  }

  private settle(failure: Failure): void {
    this.taken = true;
    host.drop(this.handle);
    this.fail(failure);
  }

  protected abstract receive(bytes: ArrayBuffer): void;
  protected abstract fail(failure: Failure): void;
}

/** A request that gives a T. */
export class Request<T> extends Pending {
  private outcome: Result<T> | null = null;

  /** Waits for the outcome. */
  wait(): Result<T> {
    // The run's cancellation may come instead, which what is shielded does not heed.
    while (!this.done) Pending.wait([this], -1);
    this.take();
    return this.outcome!;
  }

  /** Waits for the outcome, and when that takes longer than so many nanoseconds, gives the request up: code timeout. */
  waitFor(nanoseconds: i64): Result<T> {
    const due = host.now() + nanoseconds;
    while (!this.done) {
      const left = due - host.now();
      if (!Pending.wait([this], left > 1 ? left : 1)) {
        this.cancel();
        return fail<T>(new Failure("timeout", "it took longer than " + (nanoseconds / 1000000).toString() + " ms"));
      }
    }
    return this.wait();
  }

  /** Lets the request go on when the run is cancelled. */
  shield(): Request<T> {
    this.keep();
    return this;
  }

  protected receive(bytes: ArrayBuffer): void {
    const value = decode<T>(bytes);
    const mismatch = takeMismatch();
    if (mismatch == "") this.outcome = ok<T>(value);
    else this.fail(new Failure("invalid_output", "the outcome is not what the caller takes: " + mismatch).notRetryable());
  }

  protected fail(failure: Failure): void { this.outcome = new Result<T>(false, zero<T>(), failure); }
}

/** Waits for whichever of several is done first, and returns its index; of several that are done the first. Give up the others. */
export function waitAny(requests: Array<Pending>): i32 {
  while (true) {
    for (let i = 0; i < requests.length; i++) if (requests[i].done) return i;
    Pending.wait(requests, -1);
  }
}

/** Waits until all are done. */
export function waitAll(requests: Array<Pending>): void {
  while (true) {
    const open: Array<Pending> = [];
    for (let i = 0; i < requests.length; i++) if (!requests[i].done) open.push(requests[i]);
    if (open.length == 0) return;
    Pending.wait(open, -1);
  }
}
