// The global names that a program finds beside those of the language. Include lib "es2024" and no "dom".

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: { type: "abort" }) => void) | null;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: (event: { type: "abort" }) => void, options?: { once?: boolean } | boolean): void;
  removeEventListener(type: "abort", listener: (event: { type: "abort" }) => void): void;
}
declare const AbortSignal: {
  abort(reason?: unknown): AbortSignal;
  /** A durable timer. */
  timeout(milliseconds: number): AbortSignal;
  any(signals: Iterable<AbortSignal>): AbortSignal;
};
interface AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare const AbortController: { new (): AbortController };

/** Lines of the run's log, silent in replay. */
declare const console: Record<"debug" | "trace" | "log" | "info" | "warn" | "error", (...values: unknown[]) => void>;

/** Durable timers. */
declare function setTimeout(f: (...args: any[]) => void, milliseconds?: number, ...args: unknown[]): number;
declare function setInterval(f: (...args: any[]) => void, milliseconds?: number, ...args: unknown[]): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
declare function queueMicrotask(f: () => void): void;

declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;

/** The same in every replay: not for secrets. */
declare const crypto: {
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  randomUUID(): string;
};

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  decode(bytes?: ArrayBuffer | ArrayBufferView): string;
}

declare class URLSearchParams {
  constructor(init?: string | URLSearchParams | Record<string, string> | Iterable<[string, string]>);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(f: (value: string, name: string, all: URLSearchParams) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}

/** Hosts are ASCII: xn-- for others. */
declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  readonly searchParams: URLSearchParams;
  hash: string;
  toString(): string;
  toJSON(): string;
}

type HeadersInit = Headers | Record<string, string> | Iterable<[string, string]>;
declare class Headers {
  constructor(init?: HeadersInit);
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  has(name: string): boolean;
  set(name: string, value: string): void;
  forEach(f: (value: string, name: string, all: Headers) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

type BodyInit = string | ArrayBuffer | ArrayBufferView | URLSearchParams;
declare class Response {
  constructor(body?: BodyInit | null, init?: { status?: number; statusText?: string; headers?: HeadersInit });
  static json(value: unknown, init?: { status?: number; statusText?: string; headers?: HeadersInit }): Response;
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly headers: Headers;
  readonly url: string;
  readonly redirected: boolean;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array>;
  json(): Promise<any>;
  text(): Promise<string>;
  clone(): Response;
}

/** The host makes the request, and those that redirects lead to; each is an entry of the journal. */
declare function fetch(url: string | URL, init?: {
  method?: string;
  headers?: HeadersInit;
  body?: BodyInit | null;
  signal?: AbortSignal | null;
  redirect?: "follow" | "manual" | "error";
}): Promise<Response>;
