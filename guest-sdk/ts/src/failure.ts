import * as host from "./host";
import * as json from "./json";
import { mapped } from "./stack";

/** What a failure may carry beside its code and message. */
export interface FailureOptions {
  /** false ends an activity's attempts; absent leaves it to the retry policy. */
  retryable?: boolean;
  /** Any JSON value. */
  details?: unknown;
  cause?: unknown;
}

/** How something failed, on both sides of the host: requests are rejected with it, and a workflow or an activity that
 * throws one fails with its code. Codes of the program's own are free text of at most 255 bytes. */
export class Failure extends Error {
  readonly code: string;
  retryable?: boolean;
  readonly details?: unknown;

  constructor(code: string, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Failure";
    this.code = code;
    this.retryable = options.retryable;
    this.details = options.details;
  }
}

/** isCancelled tells whether an error means that the run, or the request, was cancelled. */
export function isCancelled(error: unknown): boolean {
  return codeOf(error) === "cancelled";
}

const final = new WeakSet<object>();

/** nonRetryable marks an activity's error as not worth another attempt: `throw nonRetryable(error)`. */
export function nonRetryable<E>(error: E): E {
  if (typeof error === "object" && error !== null) final.add(error);
  return error;
}

function codeOf(error: unknown): string {
  if (error instanceof Failure) return error.code;
  if (error instanceof Error && error.name === "AbortError") return "cancelled";
  if (error instanceof Error && error.name === "TimeoutError") return "timeout";
  return "error";
}

/** What the host is told of an error that ends an entry. */
export function encode(error: unknown): string {
  const retryable = typeof error === "object" && error !== null && final.has(error) ? false : (error as any)?.retryable;
  const fields = {
    code: codeOf(error),
    message: error instanceof Error ? messageOf(error) : text(error),
    retryable: typeof retryable === "boolean" ? retryable : undefined,
    details: error instanceof Failure && error.details !== undefined ? error.details
      : error instanceof Error ? { stack: mapped(error) } : undefined,
  };
  try {
    return json.text(fields);
  } catch { // the details are no JSON
    return json.text({ ...fields, details: undefined });
  }
}

function messageOf(error: Error): string {
  const plain = error instanceof Failure || error.name === "Error" || error.name === "AbortError" || error.name === "TimeoutError";
  return plain ? String(error.message) : `${error.name}: ${error.message}`;
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return json.text(value) || String(value);
  } catch {
    return String(value);
  }
}

/** The failure of a handle that did not end well. */
export function decode(status: number, payload: string): Failure {
  try {
    const f = json.json(payload);
    if (typeof f.code === "string" && f.code !== "") {
      return new Failure(f.code, String(f.message ?? ""), { retryable: f.retryable, details: f.details });
    }
  } catch { /* not an object of the host's */ }
  const code = status === host.CANCELLED ? "cancelled" : status === host.TIMED_OUT ? "timeout" : "error";
  return new Failure(code, payload);
}
