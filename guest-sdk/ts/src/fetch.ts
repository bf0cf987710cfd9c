import { buffer, decodeUTF8, encodeUTF8 } from "./bytes";
import { Failure } from "./failure";
import { http, type HTTPResponse } from "./http";
import { json } from "./json";
import { Params } from "./params";
import { Location } from "./url";

// fetch and what belongs to it, on the host's requests. Bodies are whole, not streams. A request that the host refuses, or that got
// no response, is rejected with its Failure.

/** List is the global Headers. Names are in lower case; several values of one are joined by ", ". */
export class List {
  #map = new Map<string, string>();

  constructor(init: unknown = {}) {
    if (typeof init !== "object" || init === null) throw new TypeError("headers are an object, or pairs of name and value");
    const all = Symbol.iterator in init ? init as Iterable<[string, string]> : Object.entries(init);
    for (const [name, value] of all) this.append(name, value as string);
  }

  append(name: string, value: string): void {
    const key = named(name), before = this.#map.get(key), text = String(value).trim();
    this.#map.set(key, before === undefined ? text : `${before}, ${text}`);
  }

  delete(name: string): void { this.#map.delete(named(name)); }
  get(name: string): string | null { return this.#map.get(named(name)) ?? null; }
  has(name: string): boolean { return this.#map.has(named(name)); }
  set(name: string, value: string): void { this.#map.set(named(name), String(value).trim()); }

  forEach(f: (value: string, name: string, all: List) => void, self?: unknown): void {
    for (const [name, value] of this) f.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, string]> { yield* [...this.#map].sort(([a], [b]) => a < b ? -1 : 1); }
  *keys(): IterableIterator<string> { for (const [name] of this.entries()) yield name; }
  *values(): IterableIterator<string> { for (const [, value] of this.entries()) yield value; }
  [Symbol.iterator](): IterableIterator<[string, string]> { return this.entries(); }
}

function named(name: string): string {
  const key = String(name).toLowerCase();
  if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(key)) throw new TypeError(`${JSON.stringify(name)} is no name of a header`);
  return key;
}

type Body = string | ArrayBuffer | ArrayBufferView | Params;

interface AnswerInit { status?: number; statusText?: string; headers?: unknown }

/** Answer is the global Response. */
export class Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: List;
  readonly url: string = "";
  readonly redirected: boolean = false;
  readonly type = "default";
  #body: Uint8Array;
  #used = false;

  constructor(body: Body | null = null, init: AnswerInit = {}) {
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? "";
    this.headers = new List(init.headers);
    this.#body = typeof body === "string" || body instanceof Params || body === null ? encodeUTF8(String(body ?? "")) : new Uint8Array(buffer(body));
  }

  static json(value: unknown, init: AnswerInit = {}): Answer {
    const a = new Answer(JSON.stringify(value), init);
    if (!a.headers.has("content-type")) a.headers.set("content-type", "application/json");
    return a;
  }

  /** Whether the status is one of success, from 200 to 299. */
  get ok(): boolean { return this.status >= 200 && this.status < 300; }
  get bodyUsed(): boolean { return this.#used; }

  async bytes(): Promise<Uint8Array> {
    if (this.#used) throw new TypeError("the body was read already");
    this.#used = true;
    return this.#body;
  }
  async arrayBuffer(): Promise<ArrayBuffer> { return buffer(await this.bytes()); }
  async text(): Promise<string> { return decodeUTF8(await this.bytes(), false).replace(/^\ufeff/, ""); }
  async json(): Promise<any> {
    const text = await this.text();
    return text === "" ? JSON.parse(text) : json(text);
  }

  clone(): Answer {
    if (this.#used) throw new TypeError("the body was read already");
    return from(this, this.url, this.redirected, this.#body);
  }
}

function from(r: { status: number; statusText?: string; headers: unknown }, url: string, redirected: boolean, body: Uint8Array): Answer {
  return Object.assign(new Answer(body, r), { url, redirected });
}

interface FetchInit {
  method?: string;
  headers?: unknown;
  body?: Body | null;
  signal?: AbortSignal | null;
  redirect?: "follow" | "manual" | "error";
}

/** How many redirects are followed. */
const hops = 20;

/** fetch makes a request and those that its answers lead to, each one entry of the journal. */
export async function fetch(input: unknown, init: FetchInit = {}): Promise<Answer> {
  let url = new Location(input), method = (init.method ?? "GET").toUpperCase(), body = init.body ?? undefined;
  const headers = new List(init.headers);
  if (body instanceof Params && !headers.has("content-type")) headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
  if (typeof body === "string" && !headers.has("content-type")) headers.set("content-type", "text/plain;charset=UTF-8");
  if (body !== undefined && (method === "GET" || method === "HEAD")) throw new TypeError(`a ${method} has no body`);
  for (let hop = 0; ; hop++) {
    const answer = await exchange(url, method, headers, body, init.signal ?? undefined, hop > 0);
    const to = [301, 302, 303, 307, 308].includes(answer.status) ? answer.headers.get("location") : null;
    if (to === null || init.redirect === "manual") return answer;
    if (init.redirect === "error" || hop === hops) throw new TypeError(`${url} leads elsewhere${hop === hops ? `, for the ${hops + 1}th time` : ""}`);
    const next = new Location(to, url);
    if (answer.status === 303 && method !== "HEAD" || answer.status < 303 && method === "POST") {
      method = "GET", body = undefined;
      for (const name of ["content-type", "content-language", "content-encoding"]) headers.delete(name);
    }
    if (next.origin !== url.origin) headers.delete("authorization"); // it was for the other
    url = next;
  }
}

async function exchange(url: Location, method: string, headers: List, body: Body | undefined, signal: AbortSignal | undefined, redirected: boolean): Promise<Answer> {
  const sent = typeof body === "string" || body === undefined ? body : body instanceof Params ? body.toString() : new Uint8Array(buffer(body));
  const target = new Location(url);
  target.hash = "";
  try {
    const r: HTTPResponse = await http({ url: target.href, method, headers: Object.fromEntries(headers), body: sent, signal });
    return from(r, url.href, redirected, r.bytes());
  } catch (e) { // a status that the host has retried in vain is an answer
    const { status, body = "" } = (e instanceof Failure && e.code === "http_status" ? e.details ?? {} : {}) as { status?: number; body?: string };
    if (status === undefined) throw e;
    return from({ status, headers: {} }, url.href, redirected, encodeUTF8(body));
  }
}
