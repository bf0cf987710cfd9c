import { effect } from "./calls";
import { encode, Fields } from "./convert";
import { Failure } from "./failure";
import { Options } from "./options";
import { Request } from "./request";
import { fail, ok, Result } from "./result";
import { Value } from "./value";
import { Writer } from "./writer";

/** An HTTP request, which the host makes, to addresses that were granted. It adds an Idempotency-Key, the same in every attempt. */
export class HttpRequest {
  private headers: Value = Value.object();
  private text: string | null = null;

  constructor(public method: string, public url: string) {}

  header(name: string, value: string): HttpRequest {
    this.headers.set(name, Value.string(value));
    return this;
  }

  /** Sets the body, a text. */
  body(text: string): HttpRequest {
    this.text = text;
    return this;
  }

  /** Sets the body to JSON, and the content type to application/json. */
  json<T>(value: T): HttpRequest { return this.header("Content-Type", "application/json").body(String.UTF8.decode(encode<T>(value))); }

  /** Makes the request. Any status is a response but 429, 502, 503 and 504 of the last attempt, which are failures of code http_status. */
  send(options: Options | null = null): Request<HttpResponse> { return effect<HttpRequest, HttpResponse>("http.request", this, options); }

  toJson(w: Writer): void {
    w.object().key("method").string(this.method).key("url").string(this.url);
    if (this.headers.items.length > 0) this.headers.toJson(w.key("headers"));
    const text = this.text;
    if (text != null) w.key("body").string(text);
    w.end();
  }
}

/** What came back. */
export class HttpResponse {
  status: i32 = 0;
  /** Names, in lower case, and values. */
  headers: Value = Value.object();
  /** The body, when it is a text. */
  body: string = "";
  /** The body in base64, when it is not. */
  bodyBase64: string = "";

  /** The response when its status is below 400, and otherwise a failure of code http_status. 408 and 5xx are worth a retry. */
  check(): Result<HttpResponse> {
    if (this.status < 400) return ok<HttpResponse>(this);
    const details = Value.object().set("status", Value.int(this.status)).set("body", Value.string(this.body.substring(0, 4096)));
    const f = new Failure("http_status", "the server answered with status " + this.status.toString()).withDetails(details);
    return fail<HttpResponse>(this.status < 500 && this.status != 408 ? f.notRetryable() : f);
  }

  fromJson(f: Fields): void {
    this.status = f.get<i32>("status");
    this.headers = f.getOr<Value>("headers", Value.object());
    this.body = f.getOr<string>("body", "");
    this.bodyBase64 = f.getOr<string>("body_base64", "");
  }
}
