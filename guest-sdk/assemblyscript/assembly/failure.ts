import * as host from "./host";
import { encode, Fields, read, takeMismatch } from "./convert";
import { Value } from "./value";
import { Writer } from "./writer";

/** How something failed, on both sides of the host: requests give it, and a workflow or activity that returns one fails with its code. */
export class Failure {
  /** False ends an activity's attempts at once; when it is not set, the retry policy decides. */
  retryable: bool = true;
  /** Any JSON. */
  details: Value | null = null;

  /** code is a stable word, message is for people. */
  constructor(public code: string = "error", public message: string = "") {}

  /** The same, which no further attempt can mend. */
  notRetryable(): Failure {
    this.retryable = false;
    return this;
  }

  /** The same with details. */
  withDetails(details: Value): Failure {
    this.details = details;
    return this;
  }

  /** Whether the run, or the request, was cancelled. */
  get isCancelled(): bool { return this.code == "cancelled"; }

  /** Whether it took too long. */
  get isTimeout(): bool { return this.code == "timeout"; }

  toString(): string { return this.message == "" ? this.code : this.code + ": " + this.message; }

  toJson(w: Writer): void {
    w.object().key("code").string(this.code).key("message").string(this.message);
    if (!this.retryable) w.key("retryable").bool(false);
    const details = this.details;
    if (details != null) details.toJson(w.key("details"));
    w.end();
  }

  fromJson(f: Fields): void {
    this.code = f.get<string>("code");
    this.message = f.getOr<string>("message", "");
    this.retryable = f.getOr<bool>("retryable", true);
    if (f.has("details")) this.details = f.get<Value>("details");
  }
}

/** Reads the outcome of a handle that did not end well. */
export function failureOf(status: i32, bytes: ArrayBuffer): Failure {
  const text = String.UTF8.decode(bytes);
  const v = Value.parse(text);
  if (v != null) {
    const f = read<Failure>(v, "");
    if (takeMismatch() == "" && f.code != "") return f;
  }
  return new Failure(status == host.CANCELLED ? "cancelled" : status == host.TIMED_OUT ? "timeout" : "error", text);
}

/** Makes a failure that of the entry. */
export function report(f: Failure): void { host.fail(encode<Failure>(f)); }
