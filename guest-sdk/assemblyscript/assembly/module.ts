import "./abort"; // which the compiler finds by its name
import * as host from "./host";
import { hasSuccessor } from "./calls";
import { decode, encode, takeMismatch } from "./convert";
import { Failure, report } from "./failure";
import { Result } from "./result";
import { Writer } from "./writer";

// A registered function, whose types only its subclass knows: the language has no closures.
abstract class Handler {
  constructor(public name: string) {}

  /** Runs it, from bytes to bytes, and returns what the contract wants of the entry. */
  abstract run(input: ArrayBuffer): i32;
}

class Typed<In, Out> extends Handler {
  constructor(name: string, private f: (input: In) => Result<Out>) { super(name); }

  run(input: ArrayBuffer): i32 {
    const value = decode<In>(input);
    const mismatch = takeMismatch();
    if (mismatch != "") return failed(new Failure("invalid_input", "the input is not what the function takes: " + mismatch).notRetryable());
    const result = this.f(value);
    if (!result.ok) return failed(result.failure);
    if (!hasSuccessor()) host.output(encode<Out>(result.value));
    return 0;
  }
}

const workflows: Array<Handler> = [], activities: Array<Handler> = [], queries: Array<Handler> = [];

/** Registers a workflow under a name. Call it at the top of the program. */
export function workflow<In, Out>(name: string, f: (input: In) => Result<Out>): void { add(workflows, new Typed<In, Out>(name, f)); }

/** Registers an activity under a name. Call it at the top of the program. */
export function defineActivity<In, Out>(name: string, f: (input: In) => Result<Out>): void { add(activities, new Typed<In, Out>(name, f)); }

/**
 * Registers a query under a name, which is answered by a copy of a run that waits: the function finds what the workflow left in variables of
 * the program, and may ask for nothing. Call it at the top of the program, and export reprise_query.
 */
export function query<In, Out>(name: string, f: (input: In) => Result<Out>): void { add(queries, new Typed<In, Out>(name, f)); }

function add(to: Array<Handler>, handler: Handler): void {
  assert(find(to, handler.name) == null, "two functions are registered as " + handler.name);
  to.push(handler);
}

function find(handlers: Array<Handler>, name: string): Handler | null {
  for (let i = 0; i < handlers.length; i++) if (handlers[i].name == name) return handlers[i];
  return null;
}

function failed(f: Failure): i32 {
  report(f);
  return 1;
}

/** The entry that the host calls. A program exports it: export { reprise_run } from "reprise". */
export function reprise_run(): i32 {
  const kind = host.entryKind();
  if (kind == host.DESCRIBE) {
    host.output(host.utf8(manifest()));
    return 0;
  }
  if (kind != host.WORKFLOW && kind != host.ACTIVITY) return failed(new Failure("error", "this SDK knows no entry of kind " + kind.toString()).notRetryable());
  host.cancelHandle();
  return kind == host.WORKFLOW ? enter(workflows, "workflow") : enter(activities, "activity");
}

/** The entry that the host calls in a copy of a run, for a query. A program that has queries exports it. */
export function reprise_query(): i32 { return enter(queries, "query"); }

function enter(handlers: Array<Handler>, what: string): i32 {
  const name = host.entry();
  const handler = name == "" && handlers.length == 1 ? handlers[0] : find(handlers, name);
  if (handler != null) return handler.run(host.input());
  return failed(new Failure("unknown_" + what, "this module has no " + what + " \"" + name + "\"; it has " + names(handlers).join(", ")).notRetryable());
}

function names(handlers: Array<Handler>): Array<string> {
  const all: Array<string> = [];
  for (let i = 0; i < handlers.length; i++) all.push(handlers[i].name);
  return all.sort();
}

function manifest(): string {
  const w = new Writer().object().key("sdk").string("assemblyscript/0.1.0");
  list(w.key("workflows"), names(workflows));
  list(w.key("activities"), names(activities));
  return w.end().toString();
}

function list(w: Writer, all: Array<string>): void {
  w.array();
  for (let i = 0; i < all.length; i++) w.string(all[i]);
  w.end();
}
