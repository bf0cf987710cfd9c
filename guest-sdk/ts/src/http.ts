import { decodeUTF8, encodeUTF8, fromBase64, toBase64 } from "./bytes";
import { Failure } from "./failure";
import { json as parse, text } from "./json";
import { effect, type EffectOptions } from "./registry";
import { milliseconds } from "./timers";

/** An HTTP request that the host makes, to addresses that were granted. The host adds an Idempotency-Key header, the same in
 * every attempt, unless headers has one. */
export interface HTTPRequest extends EffectOptions {
  url: string;
  /** Default GET, or POST when there is a body. */
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Sent as the body with content type application/json, when there is no body. */
  json?: unknown;
}

interface Wire { status: number; headers?: Record<string, string>; body?: string; body_base64?: string }

/** What came back. Header names are in lower case. */
export class HTTPResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly #wire: Wire;

  constructor(wire: Wire) {
    this.status = wire.status;
    this.headers = wire.headers ?? {};
    this.#wire = wire;
  }

  /** Whether the status is below 400. */
  get ok(): boolean { return this.status < 400; }

  bytes(): Uint8Array {
    return this.#wire.body_base64 !== undefined ? fromBase64(this.#wire.body_base64) : encodeUTF8(this.#wire.body ?? "");
  }

  text(): string {
    return this.#wire.body_base64 !== undefined ? decodeUTF8(this.bytes(), false) : this.#wire.body ?? "";
  }

  json<T = any>(): T { return parse(this.text()); }

  /** Throws a Failure with code http_status for a status of 400 or more, retryable for 408 and 5xx only. */
  check(): this {
    if (this.ok) return this;
    throw new Failure("http_status", `the server answered with status ${this.status}`, {
      retryable: this.status < 500 && this.status !== 408 ? false : undefined,
      details: { status: this.status, body: this.text().slice(0, 4096) },
    });
  }
}

/** http makes a request and waits for the response. It is rejected with a Failure when its last attempt got no response, or
 * (code http_status) the status 429, 502, 503 or 504. Any other status is a response; see check. */
export async function http(r: HTTPRequest): Promise<HTTPResponse> {
  let { body, headers } = r;
  if (body === undefined && r.json !== undefined) {
    body = text(r.json);
    if (!Object.keys(headers ?? {}).some((k) => k.toLowerCase() === "content-type")) {
      headers = { ...headers, "Content-Type": "application/json" };
    }
  }
  const wire = {
    method: r.method ?? (body === undefined ? "GET" : "POST"), url: r.url, headers,
    body: typeof body === "string" ? body : undefined,
    body_base64: body !== undefined && typeof body !== "string" ? toBase64(body) : undefined,
    timeout_ms: r.timeout === undefined ? undefined : Math.ceil(milliseconds(r.timeout)),
  };
  const { timeout, totalTimeout, retry, signal } = r;
  return new HTTPResponse(await effect<Wire>("http.request", wire, { timeout, totalTimeout, retry, signal }));
}
