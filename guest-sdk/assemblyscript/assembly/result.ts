import { zero } from "./convert";
import { Failure } from "./failure";

const NONE = new Failure();

/** What something came to: a value, or a failure. The language has no exceptions. */
export class Result<T> {
  constructor(
    /** Whether it went well. */
    public ok: bool,
    /** What it gave; nothing when it failed. */
    public value: T,
    /** How it failed, when it did. */
    public failure: Failure,
  ) {}

  /** The same failure, as the result of something else. */
  failed<U>(): Result<U> { return fail<U>(this.failure); }
}

/** A result that went well. */
export function ok<T>(value: T): Result<T> { return new Result<T>(true, value, NONE); }

/** A result that failed. */
export function fail<T>(failure: Failure): Result<T> { return new Result<T>(false, zero<T>(), failure); }
