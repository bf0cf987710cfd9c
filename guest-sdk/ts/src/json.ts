import { buffer } from "./bytes";
import type { Payload } from "./host";

// Payloads: JSON, or bytes as they are. Integers that a number cannot hold are bigints, both ways, so that 2^53+1 stays what it is.

declare global {
  interface JSON {
    rawJSON(text: string): object;
    parse(text: string, reviver: (this: any, key: string, value: any, context: { source?: string }) => any): any;
  }
}

const long = /\d{16}/; // below that every integer is a number

/** json reads a payload; no bytes are undefined. */
export function json(payload: string): any {
  if (payload === "") return undefined;
  return long.test(payload) ? JSON.parse(payload, exact) : JSON.parse(payload);
}

function exact(_key: string, value: any, { source }: { source?: string }): any {
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? "") ? BigInt(source!) : value;
}

/** text is a value as JSON; that of undefined is empty. */
export function text(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch (e) {
    if (!(e instanceof TypeError)) throw e; // of the value's own toJSON
  }
  return JSON.stringify(value, (_key, v) => typeof v === "bigint" ? JSON.rawJSON(String(v)) : v) ?? "";
}

/** payload is what the host is given of a value: bytes as they are, anything else as JSON. */
export function payload(value: unknown): Payload {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value) ? buffer(value) : text(value);
}
