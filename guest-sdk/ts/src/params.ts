import { decodeUTF8, encodeUTF8 } from "./bytes";

// URLSearchParams as the URL Standard has it.

const hex = (b: number): string => "%" + (b < 16 ? "0" : "") + b.toString(16).toUpperCase();

/** percent writes bytes that keep does not match as %XX. */
export function percent(text: string, keep: RegExp): string {
  let out = "";
  for (const c of text) {
    if (keep.test(c)) out += c;
    else for (const b of encodeUTF8(c)) out += hex(b);
  }
  return out;
}

/** unpercent reads %XX, and leaves what is none. */
export function unpercent(text: string): string {
  if (!text.includes("%")) return text;
  const bytes = encodeUTF8(text), out: number[] = [];
  const digit = (b?: number): number => b === undefined ? -1 : "0123456789abcdef".indexOf(String.fromCharCode(b).toLowerCase());
  for (let i = 0; i < bytes.length; i++) {
    const high = digit(bytes[i + 1]), low = digit(bytes[i + 2]);
    if (bytes[i] === 37 && high >= 0 && low >= 0) {
      out.push(high << 4 | low);
      i += 2;
    } else out.push(bytes[i]!);
  }
  return decodeUTF8(Uint8Array.from(out), false);
}

const encoded = (text: string): string => percent(text, /^[A-Za-z0-9*\-._ ]$/).replaceAll(" ", "+");
const decoded = (text: string): string => unpercent(text.replaceAll("+", " "));

type Pair = [name: string, value: string];

function pairs(text: string): Pair[] {
  return text.split("&").filter((part) => part !== "").map((part) => {
    const at = part.indexOf("=");
    return at < 0 ? [decoded(part), ""] : [decoded(part.slice(0, at)), decoded(part.slice(at + 1))];
  });
}

function given(init: unknown): Pair[] {
  if (typeof init !== "object" || init === null) return pairs(String(init).replace(/^\?/, ""));
  if (!(Symbol.iterator in init)) return Object.entries(init).map(([k, v]) => [k.toWellFormed(), String(v).toWellFormed()]);
  return Array.from(init as Iterable<Iterable<unknown>>, (one) => {
    const pair = [...one];
    if (pair.length !== 2) throw new TypeError("a parameter is a pair of name and value");
    return pair.map((s) => String(s).toWellFormed()) as Pair;
  });
}

/** Params is the global URLSearchParams. */
export class Params {
  #list: Pair[];
  #changed: ((query: string) => void) | undefined;

  constructor(init: unknown = "", changed?: (query: string) => void) {
    this.#list = given(init);
    this.#changed = changed;
  }

  #tell(): void { this.#changed?.(this.toString()); }

  /** reset takes another query, which the URL that the parameters are of was given. */
  static reset(p: Params, query: string): void { p.#list = pairs(query); }

  get size(): number { return this.#list.length; }

  append(name: string, value: string): void {
    this.#list.push([String(name), String(value)]);
    this.#tell();
  }

  delete(name: string, value?: string): void {
    this.#list = this.#list.filter(([n, v]) => n !== String(name) || value !== undefined && v !== String(value));
    this.#tell();
  }

  get(name: string): string | null { return this.#list.find(([n]) => n === String(name))?.[1] ?? null; }
  getAll(name: string): string[] { return this.#list.filter(([n]) => n === String(name)).map(([, v]) => v); }

  has(name: string, value?: string): boolean {
    return this.#list.some(([n, v]) => n === String(name) && (value === undefined || v === String(value)));
  }

  set(name: string, value: string): void {
    const first = this.#list.find(([n]) => n === String(name));
    if (!first) return this.append(name, value);
    first[1] = String(value);
    this.#list = this.#list.filter((p) => p === first || p[0] !== String(name));
    this.#tell();
  }

  sort(): void {
    this.#list.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
    this.#tell();
  }

  forEach(f: (value: string, name: string, all: Params) => void, self?: unknown): void {
    for (const [name, value] of this) f.call(self, value, name, this);
  }

  *entries(): IterableIterator<Pair> { for (const [n, v] of this.#list) yield [n, v]; }
  *keys(): IterableIterator<string> { for (const [n] of this.#list) yield n; }
  *values(): IterableIterator<string> { for (const [, v] of this.#list) yield v; }
  [Symbol.iterator](): IterableIterator<Pair> { return this.entries(); }

  toString(): string { return this.#list.map(([n, v]) => `${encoded(n)}=${encoded(v)}`).join("&"); }
}
