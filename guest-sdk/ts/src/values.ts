import * as host from "./host";
import { payload } from "./json";

/** Which run this is. */
export interface RunInfo {
  run: string;
  tenant: string;
  workflow: string;
  key: string;
  module: string;
  /** Of an activity, from 1. */
  attempt?: number;
}

/** info is what the host says of the run. */
export function info(): RunInfo {
  return JSON.parse(host.info());
}

/** publish sets a value that readers of the run see: JSON, or bytes as they are. The last value of a key wins. */
export function publish(key: string, value: unknown): void {
  if (!key) throw new TypeError("publish: the key is empty");
  host.publish(key, payload(value));
}
