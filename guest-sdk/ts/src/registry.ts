import { Failure } from "./failure";
import * as host from "./host";
import { payload } from "./json";
import { request, type RequestOptions } from "./requests";
import { milliseconds, type Duration } from "./timers";

/** The version of this SDK; a module's manifest carries it as "ts/<version>". */
export const version = "0.1.0";

/** What a workflow, or an attempt of an activity, is told beside its input. */
export interface Context {
  /** Aborts when the run is cancelled. What the workflow waits for then is rejected by itself. */
  readonly signal: AbortSignal;
}

type Handler = (input: any, context: Context) => unknown;

/** How a function takes its input. */
export interface InputOptions {
  /** "bytes": as a Uint8Array, whatever the bytes are. Default: JSON. */
  input?: "bytes";
}

/** Entry is a registered function. */
interface Entry { run: Handler; input?: "bytes" }

const workflows = new Map<string, Entry>();
const activities = new Map<string, Entry>();

function add(to: Map<string, Entry>, what: string, name: string, run: Handler, { input }: InputOptions): void {
  if (typeof name !== "string" || name === "" || name.includes("\0")) throw new TypeError(`${what} needs a name`);
  if (typeof run !== "function") throw new TypeError(`${what} ${JSON.stringify(name)} needs a function`);
  if (to.has(name)) throw new TypeError(`two functions are registered as ${what} ${JSON.stringify(name)}`);
  to.set(name, { run, input });
}

/** workflow registers a workflow under a name. Its input and its result are JSON; a result that is an ArrayBuffer or a view of one
 * is its bytes. */
export function workflow<In, Out>(name: string, run: (input: In, context: Context) => Promise<Out> | Out, options: InputOptions = {}): void {
  add(workflows, "a workflow", name, run, options);
}

/** How failed attempts are retried. The wait before attempt n+1 is min(backoff * factor^(n-1), maxBackoff). */
export interface Retry {
  /** In all, the first included. Default 1, that is no retry. */
  attempts?: number;
  /** After the first failure. Default 1 s. */
  backoff?: Duration;
  /** Growth of the wait. Default 2. */
  factor?: number;
  /** Default 1 min. */
  maxBackoff?: Duration;
  /** Failure codes that end it at once. */
  nonRetryable?: string[];
}

/** How long an activity or effect may take and how often it is attempted. */
export interface EffectOptions extends RequestOptions {
  /** Bounds one attempt. Default 30 s. */
  timeout?: Duration;
  /** Bounds all attempts together. Default: no bound. */
  totalTimeout?: Duration;
  /** Default: the host's for the effect, no retry for an activity. */
  retry?: Retry;
}

/** An activity: a function that workflows call by this value. */
export type Activity<In, Out> = (input: In, options?: EffectOptions) => Promise<Out>;

/** activity registers a function that runs outside the workflow: in an instance of its own, at least once, retried by policy,
 * its outcome journaled. Workflows call what it returns. Inside it requests go to the world directly, without a journal. */
export function activity<In, Out>(name: string, run: (input: In, context: Context) => Promise<Out> | Out, options: EffectOptions & InputOptions = {}): Activity<In, Out> {
  add(activities, "an activity", name, run, options);
  return caller(undefined, name, options);
}

/** remoteActivity names an activity of another module: a workflow name or a digest ("sha256:..."). */
export function remoteActivity<In, Out>(module: string, name: string, options: EffectOptions = {}): Activity<In, Out> {
  return caller(module, name, options);
}

function caller<In, Out>(module: string | undefined, name: string, options: EffectOptions): Activity<In, Out> {
  return (input, more) => {
    const o = { ...options, ...more };
    return request(() => host.activity(name, payload(input), wire(o, module)), o);
  };
}

/** effect asks the host for an effect by name. */
export function effect<Out = unknown>(name: string, input?: unknown, options: EffectOptions = {}): Promise<Out> {
  if (!name) return Promise.reject(new Failure("invalid_input", "an effect needs a name", { retryable: false }));
  return request(() => host.effect(name, payload(input), wire(options)), options);
}

/** signal waits for the next signal of a name. Signals are delivered once, in order of arrival; those that came earlier count.
 * When it is given up, a signal that has not been delivered stays in the queue. */
export function signal<T = unknown>(name: string, options?: RequestOptions): Promise<T> {
  if (!name) return Promise.reject(new Failure("invalid_input", "a signal needs a name", { retryable: false }));
  return request(() => host.signal(name), options);
}

/** wire is the options as the contract writes them, empty when all are defaults. */
function wire({ timeout, totalTimeout, retry }: EffectOptions, module?: string): string {
  if (module === undefined && timeout === undefined && totalTimeout === undefined && retry === undefined) return "";
  const ms = (d?: Duration): number | undefined => d === undefined ? undefined : Math.ceil(milliseconds(d));
  return JSON.stringify({
    module, timeout_ms: ms(timeout), total_timeout_ms: ms(totalTimeout),
    retry: retry && { attempts: retry.attempts, backoff_ms: ms(retry.backoff), factor: retry.factor,
      max_backoff_ms: ms(retry.maxBackoff), non_retryable: retry.nonRetryable },
  });
}

/** manifest is what the module says of itself. */
export function manifest(): string {
  return JSON.stringify({ sdk: "ts/" + version, workflows: [...workflows.keys()].sort(), activities: [...activities.keys()].sort() });
}

type Answer = (input: any) => unknown;

const queries = new Map<string, Answer>();

/** query answers questions about a run that is open, in a copy of it that is thrown away. It may look at everything, also at what
 * the workflow that registers it has in its variables, and waits for nothing. A name that is registered again has the newer answer. */
export function query<In, Out>(name: string, answer: (input: In) => Out): void {
  if (!name) throw new TypeError("a query needs a name");
  queries.set(name, answer);
}

/** answer finds the function of a query. */
export function answer(name: string): Answer {
  const found = queries.get(name);
  if (found) return found;
  throw new Failure("unknown_query", `this run answers no query ${JSON.stringify(name)}; it answers ${[...queries.keys()].sort().join(", ") || "none"}`);
}

/** find gives the function that an instance was made for; no name means the only workflow. */
export function find(kind: number, name: string): Entry {
  const [from, what, code] = kind === host.ACTIVITY ? [activities, "activity", "unknown_activity"] as const
    : [workflows, "workflow", "unknown_workflow"] as const;
  const [only] = from.values();
  const found = name === "" && kind === host.WORKFLOW && from.size === 1 ? only : from.get(name);
  if (found) return found;
  const all = [...from.keys()].sort().join(", ") || "none";
  throw new Failure(code, `this module has no ${what} ${JSON.stringify(name)}; it has ${all}`, { retryable: false });
}
