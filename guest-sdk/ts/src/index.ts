/// <reference path="./names.d.ts" />
// The public names of the SDK: what a program imports from "reprise".

export { child, continueAsNew, type ChildOptions } from "./child";
export { Failure, isCancelled, nonRetryable, type FailureOptions } from "./failure";
export { http, HTTPResponse, type HTTPRequest } from "./http";
export { activity, effect, query, remoteActivity, signal, version, workflow } from "./registry";
export type { Activity, Context, EffectOptions, InputOptions, Retry } from "./registry";
export type { RequestOptions } from "./requests";
export { sleep, within, type Duration } from "./timers";
export { info, publish, type RunInfo } from "./values";
