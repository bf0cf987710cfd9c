// The calls of the contract with the host. A module imports only those that its program uses.

@external("reprise_v1", "entry_kind") declare function _entryKind(): i32;
@external("reprise_v1", "entry") declare function _entry(ptr: usize, cap: i32): i32;
@external("reprise_v1", "info") declare function _info(ptr: usize, cap: i32): i32;
@external("reprise_v1", "input") declare function _input(ptr: usize, cap: i32): i32;
@external("reprise_v1", "output") declare function _output(ptr: usize, len: i32): void;
@external("reprise_v1", "fail") declare function _fail(ptr: usize, len: i32): void;
@external("reprise_v1", "continue_as_new") declare function _continueAsNew(ptr: usize, len: i32): void;
@external("reprise_v1", "effect") declare function _effect(name: usize, nameLen: i32, input: usize, inputLen: i32, options: usize, optionsLen: i32): i32;
@external("reprise_v1", "activity") declare function _activity(name: usize, nameLen: i32, input: usize, inputLen: i32, options: usize, optionsLen: i32): i32;
@external("reprise_v1", "child") declare function _child(name: usize, nameLen: i32, input: usize, inputLen: i32, options: usize, optionsLen: i32): i32;
@external("reprise_v1", "signal") declare function _signal(name: usize, len: i32): i32;
@external("reprise_v1", "result") declare function _result(handle: i32, ptr: usize, cap: i32): i32;
@external("reprise_v1", "wait") declare function _wait(handles: usize, n: i32, timeout: i64, ready: usize, cap: i32): i32;
@external("reprise_v1", "random") declare function _random(ptr: usize, len: i32): void;
@external("reprise_v1", "asset") declare function _asset(name: usize, nameLen: i32, ptr: usize, cap: i32): i32;
@external("reprise_v1", "log") declare function _log(level: i32, ptr: usize, len: i32): void;
@external("reprise_v1", "publish") declare function _publish(key: usize, keyLen: i32, ptr: usize, len: i32): void;

/** A durable timer. */
@external("reprise_v1", "timer") export declare function timer(nanoseconds: i64): i32;

/** What is visible of a handle. */
@external("reprise_v1", "status") export declare function status(handle: i32): i32;

/** Gives a handle up, and frees its outcome. */
@external("reprise_v1", "drop") export declare function drop(handle: i32): void;

/** Says that the program handles the run's cancellation itself. */
@external("reprise_v1", "cancel_handle") export declare function cancelHandle(): i32;

/** The run's time in nanoseconds since 1970. */
@external("reprise_v1", "now") export declare function now(): i64;

@external("wasi_snapshot_preview1", "proc_exit") declare function _exit(status: i32): void;

/** The kinds of entry, as the contract numbers them. */
export const WORKFLOW: i32 = 0, ACTIVITY: i32 = 1, DESCRIBE: i32 = 3;

/** What a handle can be, as the contract numbers it, pending left out. */
export const OK: i32 = 1, CANCELLED: i32 = 3, TIMED_OUT: i32 = 4;

/** The handle of the run's own cancellation. */
export const RUN: i32 = 0;

// Of a pull, the first call asks for the length and the second for the bytes; both see the same.

// @ts-ignore: decorator
@inline function at(b: ArrayBuffer): usize { return changetype<usize>(b); }

/** The UTF-8 of a text. */
export function utf8(text: string): ArrayBuffer { return String.UTF8.encode(text); }

export function entryKind(): i32 { return _entryKind(); }

export function entry(): string {
  const b = new ArrayBuffer(_entry(0, 0));
  _entry(at(b), b.byteLength);
  return String.UTF8.decode(b);
}

export function info(): ArrayBuffer {
  const b = new ArrayBuffer(_info(0, 0));
  _info(at(b), b.byteLength);
  return b;
}

export function input(): ArrayBuffer {
  const b = new ArrayBuffer(_input(0, 0));
  _input(at(b), b.byteLength);
  return b;
}

export function output(b: ArrayBuffer): void { _output(at(b), b.byteLength); }

export function fail(b: ArrayBuffer): void { _fail(at(b), b.byteLength); }

export function continueAsNew(b: ArrayBuffer): void { _continueAsNew(at(b), b.byteLength); }

export function effect(name: string, input: ArrayBuffer, options: ArrayBuffer): i32 {
  const n = utf8(name);
  return _effect(at(n), n.byteLength, at(input), input.byteLength, at(options), options.byteLength);
}

export function activity(name: string, input: ArrayBuffer, options: ArrayBuffer): i32 {
  const n = utf8(name);
  return _activity(at(n), n.byteLength, at(input), input.byteLength, at(options), options.byteLength);
}

export function child(name: string, input: ArrayBuffer, options: ArrayBuffer): i32 {
  const n = utf8(name);
  return _child(at(n), n.byteLength, at(input), input.byteLength, at(options), options.byteLength);
}

export function signal(name: string): i32 {
  const n = utf8(name);
  return _signal(at(n), n.byteLength);
}

export function result(handle: i32): ArrayBuffer {
  const b = new ArrayBuffer(_result(handle, 0, 0));
  _result(handle, at(b), b.byteLength);
  return b;
}

/** Waits for the handles and returns those that are done, none when the time has passed. */
export function wait(handles: StaticArray<i32>, timeout: i64): Array<i32> {
  const room = new StaticArray<i32>(handles.length);
  const n = _wait(changetype<usize>(handles), handles.length, timeout, changetype<usize>(room), room.length);
  const ready = new Array<i32>(n);
  for (let i = 0; i < n; i++) ready[i] = room[i];
  return ready;
}

export function random(b: ArrayBuffer): void { _random(at(b), b.byteLength); }

export function asset(name: string): ArrayBuffer | null {
  const n = utf8(name);
  const length = _asset(at(n), n.byteLength, 0, 0);
  if (length < 0) return null;
  const b = new ArrayBuffer(length);
  _asset(at(n), n.byteLength, at(b), b.byteLength);
  return b;
}

export function log(level: i32, line: string): void {
  const b = utf8(line);
  _log(level, at(b), b.byteLength);
}

export function publish(key: string, b: ArrayBuffer): void {
  const k = utf8(key);
  _publish(at(k), k.byteLength, at(b), b.byteLength);
}

/** Ends the entry. What fail said before is how the run ends; a trap would say less. */
export function exit(): void { _exit(1); }
