import * as host from "./host";
import { encode, zero } from "./convert";
import { Failure } from "./failure";
import { Options } from "./options";
import { Request } from "./request";
import { fail, ok, Result } from "./result";
import { Value } from "./value";

/** Asks for an activity: a function that is run in a fresh instance, at least once, and retried by policy. */
export function activity<In, Out>(name: string, input: In, options: Options | null = null): Request<Out> {
  return new Request<Out>(host.activity(name, encode<In>(input), bytes(options)));
}

/** Asks the host for an effect by its name. */
export function effect<In, Out>(name: string, input: In, options: Options | null = null): Request<Out> {
  return new Request<Out>(host.effect(name, encode<In>(input), bytes(options)));
}

/** Starts a child run, exactly once: a run of its own, whose outcome is that of its last successor. Only workflows have children. */
export function child<In, Out>(workflow: string, input: In, options: Options | null = null): Request<Out> {
  return new Request<Out>(host.child(workflow, encode<In>(input), bytes(options)));
}

/** The payload of the next signal of a name. Those that came before count; each is delivered once, in order of arrival. */
export function signal<T>(name: string): Request<T> { return new Request<T>(host.signal(name)); }

/** A durable timer, due so many nanoseconds after the run's present time. */
export function timer(nanoseconds: i64): Request<Value> { return new Request<Value>(host.timer(nanoseconds)); }

/** Waits for so many nanoseconds, however long that is and whatever becomes of the host. It fails when the run is cancelled. */
export function sleep(nanoseconds: i64): Result<Value> { return timer(nanoseconds).wait(); }

// Whether the run has a successor.
let continued: bool = false;

/** Whether the run has a successor. */
export function hasSuccessor(): bool { return continued; }

/** Has the run end, and starts its successor, the same workflow with another input. Return what this returns. In an activity it is a failure. */
export function continueAsNew<In, Out>(input: In): Result<Out> {
  if (host.entryKind() != host.WORKFLOW) return fail<Out>(new Failure("error", "only a workflow can continue as new").notRetryable());
  host.continueAsNew(encode<In>(input));
  continued = true;
  return ok<Out>(zero<Out>());
}

function bytes(options: Options | null): ArrayBuffer { return options == null ? new ArrayBuffer(0) : encode<Options>(options); }
