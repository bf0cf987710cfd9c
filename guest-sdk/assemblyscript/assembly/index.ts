// Durable workflows in AssemblyScript, for the host Reprise.
//
// A program registers its workflows and activities at its top and exports the entry:
//
//     import { activity, defineActivity, ok, Result, workflow } from "reprise";
//     export { reprise_run } from "reprise";
//
//     workflow<i64, string>("order", (amount: i64): Result<string> => activity<i64, string>("charge", amount).wait());
//     defineActivity<i64, string>("charge", (amount: i64): Result<string> => ok<string>("receipt for " + amount.toString()));
//
// The compiler needs the option --use abort=...: see docs/GUESTS.md.

export { activity, child, continueAsNew, effect, signal, sleep, timer } from "./calls";
export { decode, encode, Fields, takeMismatch } from "./convert";
export { Failure } from "./failure";
export { HttpRequest, HttpResponse } from "./http";
export { defineActivity, query, reprise_query, reprise_run, workflow } from "./module";
export { HOUR, MILLISECOND, MINUTE, Options, SECOND } from "./options";
export { isCancelled, Pending, Request, waitAll, waitAny } from "./request";
export { fail, ok, Result } from "./result";
export { asset, debug, error, Info, info, log, now, publish, random, warn } from "./run";
export { Kind, Value } from "./value";
export { Writer } from "./writer";
