import "./globals";
import { Continuation } from "./child";
import { encode, Failure } from "./failure";
import * as host from "./host";
import { json, payload } from "./json";
import { answer, find, manifest } from "./registry";
import { listen, runSignal, turn } from "./requests";

// The entry of a bundle: `reprise build` imports this, then the program, then calls start.

function failed(error: unknown): void {
  host.fail(encode(error));
  host.ended(false);
}

const hooks = globalThis as any;
hooks.__crash = failed;
hooks.__turn = (): void => turn(() =>
  failed(new Failure("deadlock", "the program waits for a promise that nothing can settle any more")));

hooks.__query = (): void => {
  const value = answer(host.entry())(input());
  if (value instanceof Promise) throw new Failure("error", "a query may not wait; its answer is a promise");
  host.output(result(value));
  host.ended(true);
};

const rejected = new Map<unknown, unknown>();

// The engine's adapter calls this: see adapter.wat.
hooks.__rejected = (...args: [promise?: unknown, reason?: unknown]): void => {
  if (args.length === 2) rejected.set(...args as [unknown, unknown]);
  else if (args.length === 1) rejected.delete(args[0]);
  else {
    for (const reason of rejected.values()) console.warn("a promise was rejected that nothing waits for:", reason);
    rejected.clear();
  }
};

function input(as?: "bytes"): unknown {
  if (as === "bytes") return new Uint8Array(host.inputBytes());
  try {
    return json(host.input());
  } catch (cause) {
    throw new Failure("invalid_input", `the input is not JSON: ${cause}`, { retryable: false, cause });
  }
}

function result(value: unknown): host.Payload {
  try {
    return payload(value);
  } catch (cause) {
    throw new Failure("invalid_output", `the result is no JSON: ${cause}`, { retryable: false, cause });
  }
}

function goOn(kind: number, next: Continuation): void {
  if (kind !== host.WORKFLOW) throw new Failure("error", "only a workflow can continue as new");
  host.continueAsNew(result(next.input));
}

/** start does what this instance was made for. */
export function start(): void {
  const kind = host.entryKind();
  if (kind === host.DESCRIBE) {
    host.output(manifest());
    host.ended(true);
    return;
  }
  listen();
  (async () => {
    const f = find(kind, host.entry());
    const value = await f.run(input(f.input), { signal: runSignal });
    if (value instanceof Continuation) goOn(kind, value);
    else host.output(result(value));
    host.ended(true);
  })().catch(failed);
}
