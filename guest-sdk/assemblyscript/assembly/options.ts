import { Writer } from "./writer";

/** Durations, in nanoseconds. */
export const MILLISECOND: i64 = 1000000, SECOND: i64 = 1000000000, MINUTE: i64 = 60000000000, HOUR: i64 = 3600000000000;

/** How an activity or effect is carried out, or a child run. Zero is the host's default throughout. */
export class Options {
  /** Bounds one attempt, in nanoseconds; the host's default is 30 s. */
  timeout: i64 = 0;
  /** Bounds all attempts together. */
  totalTimeout: i64 = 0;
  /** The number of attempts in all; 0 is the host's default, for activities one. */
  attempts: i32 = 0;
  /** The wait after the first failure; the host's default is 1 s. */
  backoff: i64 = 0;
  /** The growth of the wait; the host's default is 2. */
  factor: f64 = 0;
  /** Bounds the wait; the host's default is 60 s. */
  maxBackoff: i64 = 0;
  /** Failure codes that end the attempts at once. */
  nonRetryable: Array<string> = [];
  /** The module of an activity or a child: a workflow's name or a digest. Empty: the run's own. */
  module: string = "";
  /** Lets a child go on when its request is given up, or the run that started it ends. A child takes this and the module only. */
  abandon: bool = false;

  /** Options with a policy of retries. */
  static retry(attempts: i32, backoff: i64 = 0): Options {
    const o = new Options();
    o.attempts = attempts;
    o.backoff = backoff;
    return o;
  }

  /** Options with a bound for one attempt. */
  static within(timeout: i64): Options {
    const o = new Options();
    o.timeout = timeout;
    return o;
  }

  toJson(w: Writer): void {
    w.object();
    if (this.module != "") w.key("module").string(this.module);
    if (this.abandon) w.key("abandon").bool(true);
    milliseconds(w, "timeout_ms", this.timeout);
    milliseconds(w, "total_timeout_ms", this.totalTimeout);
    if (this.attempts > 0 || this.backoff > 0 || this.factor > 0 || this.maxBackoff > 0 || this.nonRetryable.length > 0) {
      this.policy(w.key("retry").object());
      w.end();
    }
    w.end();
  }

  private policy(w: Writer): void {
    if (this.attempts > 0) w.key("attempts").int(this.attempts);
    milliseconds(w, "backoff_ms", this.backoff);
    if (this.factor > 0) w.key("factor").float(this.factor);
    milliseconds(w, "max_backoff_ms", this.maxBackoff);
    if (this.nonRetryable.length == 0) return;
    w.key("non_retryable").array();
    for (let i = 0; i < this.nonRetryable.length; i++) w.string(this.nonRetryable[i]);
    w.end();
  }
}

// Part of a millisecond is a whole one: zero would be the default.
function milliseconds(w: Writer, key: string, nanoseconds: i64): void {
  if (nanoseconds > 0) w.key(key).int((nanoseconds + 999999) / 1000000);
}
