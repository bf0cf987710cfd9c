import { Controller, Signal } from "./abort";
import { decodeUTF8, encodeUTF8, fromBase64, toBase64 } from "./bytes";
import { clone } from "./clone";
import { Answer, fetch, List } from "./fetch";
import * as host from "./host";
import { Params } from "./params";
import { mapped } from "./stack";
import * as timers from "./timers";
import { Location } from "./url";

// What the engine lacks of the names that programs expect, and what must be the run's own: randomness, the log, timers. The
// engine's Date reads the clock of the run already.

function shown(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) {
    const stack = mapped(value);
    return `${value.name}: ${value.message}${stack === "" ? "" : "\n" + stack}`;
  }
  if (typeof value === "function") return `[function ${value.name || "(anonymous)"}]`;
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? `${value}n` : String(value);
  const above: object[] = [];
  try {
    return JSON.stringify(value, function (this: object, key, v) {
      while (above.length > 0 && above.at(-1) !== this) above.pop();
      if (typeof v === "bigint") return `${v}n`;
      if (v instanceof Error) return shown(v);
      if (v instanceof Map) return { "Map": [...v] };
      if (v instanceof Set) return { "Set": [...v] };
      if (typeof v === "object" && v !== null) {
        if (above.includes(v)) return "[circular]";
        above.push(v);
      }
      return v;
    });
  } catch {
    return String(value);
  }
}

function line(level: number): (...values: unknown[]) => void {
  return (...values) => host.log(level, values.map(shown).join(" "));
}

class TextEncoder {
  readonly encoding = "utf-8";
  encode(text = ""): Uint8Array { return encodeUTF8(String(text)); }
}

class TextDecoder {
  readonly encoding = "utf-8";
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  constructor(label = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    if (!/^(utf-?8|unicode-1-1-utf-8)$/i.test(label.trim())) throw new RangeError(`the encoding ${label} is not supported; utf-8 is`);
    this.fatal = options.fatal === true;
    this.ignoreBOM = options.ignoreBOM === true;
  }
  decode(bytes: ArrayBuffer | ArrayBufferView = new Uint8Array(), options: { stream?: boolean } = {}): string {
    if (options.stream) throw new TypeError("TextDecoder decodes whole texts only");
    const b = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    const text = decodeUTF8(b, this.fatal);
    return !this.ignoreBOM && text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}

function getRandomValues<T extends ArrayBufferView>(array: T): T {
  const b = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let i = 0; i < b.length; i++) b[i] = Math.floor(host.random() * 256);
  return array;
}

function randomUUID(): string {
  const b = getRandomValues(new Uint8Array(16));
  b[6] = (b[6]! & 0x0f) | 0x40;
  b[8] = (b[8]! & 0x3f) | 0x80;
  const hex = [...b].map((n) => n.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function define(names: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(names)) {
    if (typeof value === "function") Object.defineProperty(value, "name", { value: name, configurable: true });
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
}

Math.random = host.random;
define({
  console: { debug: line(0), trace: line(0), log: line(1), info: line(1), warn: line(2), error: line(3) },
  setTimeout: timers.setTimeout, clearTimeout: timers.clearTimeout,
  setInterval: timers.setInterval, clearInterval: timers.clearTimeout,
  AbortController: Controller, AbortSignal: Signal, TextEncoder, TextDecoder,
  URL: Location, URLSearchParams: Params, fetch, Headers: List, Response: Answer,
  structuredClone: clone,
  crypto: { getRandomValues, randomUUID },
  btoa: (text: string) => toBase64(Uint8Array.from(text, (c) => c.charCodeAt(0))),
  atob: (text: string) => String.fromCharCode(...fromBase64(text)),
});
