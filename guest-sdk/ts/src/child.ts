import { Failure } from "./failure";
import * as host from "./host";
import { payload } from "./json";
import { request, type RequestOptions } from "./requests";

/** What a child run is of. */
export interface ChildOptions extends RequestOptions {
  /** A workflow name or a digest ("sha256:..."). Default: the run's own. */
  module?: string;
  /** Lets the child go on when it is given up, or when the run that started it ends. Otherwise it is cancelled. */
  abandon?: boolean;
}

/** child starts a workflow as a run of its own, exactly once, and waits for its outcome. Only workflows have children. */
export function child<Out = unknown>(workflow: string, input?: unknown, options: ChildOptions = {}): Promise<Out> {
  if (!workflow) return Promise.reject(new Failure("invalid_input", "a child run needs a workflow", { retryable: false }));
  const { module, abandon } = options;
  const wire = module === undefined && abandon === undefined ? "" : JSON.stringify({ module, abandon });
  return request(() => host.child(workflow, payload(input), wire), options);
}

/** Continuation is what a workflow returns to go on as a new run. */
export class Continuation {
  constructor(readonly input: unknown) {}
}

/** continueAsNew makes what a workflow returns to go on as a new run with an input and an empty journal: `return continueAsNew(next)`. */
export function continueAsNew(input?: unknown): any {
  return new Continuation(input);
}
