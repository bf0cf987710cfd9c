import * as host from "./host";
import { encode, Fields, read, takeMismatch } from "./convert";
import { Value } from "./value";

/** Which run a program belongs to. */
export class Info {
  run: string = "";
  tenant: string = "";
  /** The name of the workflow. */
  workflow: string = "";
  /** The key that the run was started with, or nothing. */
  key: string = "";
  /** The module's digest. */
  module: string = "";
  /** Which attempt of an activity this is, from 1; 0 in a workflow. */
  attempt: i32 = 0;

  fromJson(f: Fields): void {
    this.run = f.getOr<string>("run", "");
    this.tenant = f.getOr<string>("tenant", "");
    this.workflow = f.getOr<string>("workflow", "");
    this.key = f.getOr<string>("key", "");
    this.module = f.getOr<string>("module", "");
    this.attempt = f.getOr<i32>("attempt", 0);
  }
}

/** What the host says of the run. */
export function info(): Info {
  const v = Value.parse(String.UTF8.decode(host.info()));
  const i = read<Info>(v == null ? Value.object() : v, "");
  takeMismatch(); // a host says what the contract says
  return i;
}

/** The run's time in nanoseconds since 1970: that of the last outcome that it saw. It moves only where the program waits. */
export function now(): i64 { return host.now(); }

/** So many bytes of a generator that gives a run the same in every replay, at most 64 KiB. Not for secrets. */
export function random(length: i32): ArrayBuffer {
  const b = new ArrayBuffer(length);
  host.random(b);
  return b;
}

/** Sets a value that readers of the run see. The last value of a key wins. */
export function publish<T>(key: string, value: T): void { host.publish(key, encode<T>(value)); }

/** The module's custom section reprise.asset.NAME; null when there is none. */
export function asset(name: string): ArrayBuffer | null { return host.asset(name); }

/** A line of level debug in the run's log; silent in replay, like the others. */
export function debug(line: string): void { host.log(0, line); }

/** A line of level info in the run's log. */
export function log(line: string): void { host.log(1, line); }

/** A line of level warn in the run's log. */
export function warn(line: string): void { host.log(2, line); }

/** A line of level error in the run's log. */
export function error(line: string): void { host.log(3, line); }
