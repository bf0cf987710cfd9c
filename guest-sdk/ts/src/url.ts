import { Params, percent, unpercent } from "./params";

// URL as the URL Standard has it, but for hosts that are not ASCII, which need the tables of Unicode: they are refused, and
// written as xn-- by whoever has them. Windows's drive letters are nothing special.

const ports: Record<string, string> = { http: "80", https: "443", ws: "80", wss: "443", ftp: "21", file: "" };

// What stays as it is in each part; everything else is written as %XX.
const kept = {
  fragment: /^[!#-;=?-_a-~]$/,
  query: /^[!$-;=?-~]$/, // of special schemes without '
  path: /^[!$-;=@-\]_a-z|~]$/,
  user: /^[!$-.0-9A-Z_a-z~]$/,
};
const specialQuery = /^[!$-&(-;=?-~]$/;

interface Parts {
  scheme: string;
  user: string;
  password: string;
  host: string | null;
  port: string;
  path: string[];
  opaque: string | null; // in place of the path, as in mailto:
  query: string | null;
  fragment: string | null;
}

const special = (p: Parts): boolean => p.scheme in ports;

function wrong(what: string): never { throw new TypeError(`Invalid URL: ${what}`); }

function parse(text: string, base?: Parts): Parts {
  let rest = text.replace(/^[\0- ]+|[\0- ]+$/g, "").replace(/[\t\n\r]/g, "").toWellFormed();
  const p: Parts = { scheme: "", user: "", password: "", host: null, port: "", path: [], opaque: null, query: null, fragment: null };
  const cut = (mark: string): string | null => {
    const at = rest.indexOf(mark);
    if (at < 0) return null;
    const part = rest.slice(at + 1);
    rest = rest.slice(0, at);
    return part;
  };
  const fragment = cut("#"), query = cut("?");
  const [whole, scheme] = /^([A-Za-z][A-Za-z0-9+.\-]*):/.exec(rest) ?? [];
  if (scheme !== undefined) {
    p.scheme = scheme.toLowerCase();
    rest = rest.slice(whole!.length);
  } else {
    if (!base) wrong(JSON.stringify(text));
    p.scheme = base.scheme;
  }
  if (special(p)) rest = rest.replaceAll("\\", "/");
  if (fragment !== null) p.fragment = percent(fragment, kept.fragment);
  if (query !== null) p.query = percent(query, special(p) ? specialQuery : kept.query);

  const relative = scheme === undefined || special(p) && base?.scheme === p.scheme && !rest.startsWith("/");
  if (relative) against(p, rest, base!, query !== null);
  else if (special(p) && p.scheme !== "file") authority(p, rest.replace(/^\/*/, "//"));
  else if (rest.startsWith("//")) authority(p, rest);
  else if (rest.startsWith("/") || special(p)) setPath(p, rest);
  else p.opaque = percent(rest, /^[ -~]$/);
  if (p.scheme === "file") p.host = p.host === "localhost" ? "" : p.host ?? "";
  return p;
}

/** against reads what is relative to a base. */
function against(p: Parts, rest: string, base: Parts, queried: boolean): void {
  if (base.opaque !== null) {
    if (rest !== "" || queried || p.fragment === null) wrong("it is relative, and its base has no path");
    Object.assign(p, { ...base, fragment: p.fragment });
    return;
  }
  if (rest.startsWith("//")) return authority(p, rest);
  p.user = base.user, p.password = base.password, p.host = base.host, p.port = base.port;
  if (rest.startsWith("/")) return setPath(p, rest);
  p.path = [...base.path];
  if (rest === "") {
    if (!queried) p.query = base.query;
    return;
  }
  p.path.pop();
  setPath(p, "/" + rest, p.path);
}

/** authority reads //user:password@host:port/path. */
function authority(p: Parts, rest: string): void {
  const [, login, path] = /^\/\/([^/]*)(.*)$/s.exec(rest)!;
  const at = login!.lastIndexOf("@");
  const address = login!.slice(at + 1);
  if (at >= 0) {
    if (address === "") wrong("there is no host");
    const [user, ...password] = login!.slice(0, at).split(":");
    p.user = percent(user!, kept.user);
    p.password = percent(password.join(":"), kept.user);
  }
  setHost(p, address);
  setPath(p, path!);
}

function setHost(p: Parts, address: string): void {
  const [, host, colon, port] = /^(\[[^\]]*\]|[^:]*)(:(.*))?$/s.exec(address) ?? wrong(`the host ${address}`);
  if (host === "" && (special(p) && p.scheme !== "file" || colon !== undefined)) wrong("there is no host");
  p.host = hostOf(host!, special(p));
  if (port === undefined || port === "") return;
  if (p.scheme === "file") wrong("a file has no port");
  setPort(p, port);
}

function setPort(p: Parts, port: string): void {
  if (!/^\d+$/.test(port) || Number(port) > 65535) wrong(`the port ${port}`);
  p.port = String(Number(port));
  if (ports[p.scheme] === p.port) p.port = "";
}

function hostOf(text: string, isSpecial: boolean): string {
  if (text.startsWith("[")) {
    if (!/^\[[0-9A-Fa-f:.]+\]$/.test(text) || !text.includes(":")) wrong(`the host ${text}`);
    return text.toLowerCase();
  }
  if (!isSpecial) return /[\0\t\n\r #/<>?@[\\\]^|]/.test(text) ? wrong(`the host ${text}`) : percent(text, /^[!-~]$/);
  const host = unpercent(text).toLowerCase();
  if (/[^\0-\x7f]/.test(host)) wrong(`the host ${host} is not ASCII; write it as xn--`);
  if (/[\0- #%/:<>?@[\\\]^`{|}\x7f]/.test(host)) wrong(`the host ${host}`);
  return numbers(host);
}

/** numbers writes an address of version 4 as four decimal numbers, whatever it was written as. */
function numbers(host: string): string {
  const parts = host.replace(/\.$/, "").split(".");
  if (!/^(\d+|0x[0-9a-f]*)$/.test(parts.at(-1)!)) return host;
  const values = parts.map((s) => !/^(\d+|0x[0-9a-f]*)$/.test(s) ? NaN : s === "0x" ? 0
    : /^0[0-9]/.test(s) ? (/^[0-7]+$/.test(s) ? parseInt(s, 8) : NaN) : Number(s));
  const last = values.pop()!;
  if (values.length > 3 || values.some((v) => !(v < 256)) || !(last < 256 ** (4 - values.length))) wrong(`the address ${host}`);
  const n = values.reduce((sum, v, i) => sum + v * 256 ** (3 - i), last);
  return [24, 16, 8, 0].map((bits) => Math.floor(n / 2 ** bits) % 256).join(".");
}

/** setPath reads an absolute path, onto what is there. */
function setPath(p: Parts, text: string, onto: string[] = []): void {
  const segments = text === "" ? [] : text.slice(1).split("/");
  segments.forEach((segment, i) => {
    const plain = segment.replace(/%2e/gi, "."), end = i === segments.length - 1;
    if (plain === "..") onto.pop();
    if (plain !== "." && plain !== "..") onto.push(percent(segment, kept.path));
    else if (end) onto.push("");
  });
  if (onto.length === 0 && special(p)) onto.push("");
  p.path = onto;
}

function write(p: Parts, fragment = true): string {
  let out = p.scheme + ":";
  if (p.host !== null) out += `//${login(p)}${p.host}${p.port && ":" + p.port}`;
  else if (p.opaque === null && p.path.length > 1 && p.path[0] === "") out += "/.";
  return out + path(p) + (p.query === null ? "" : "?" + p.query) + (fragment && p.fragment !== null ? "#" + p.fragment : "");
}

function login(p: Parts): string {
  if (p.user === "" && p.password === "") return "";
  return `${p.user}${p.password && ":" + p.password}@`;
}

const path = (p: Parts): string => p.opaque ?? p.path.map((s) => "/" + s).join("");

/** Location is the global URL. */
export class Location {
  #p: Parts;
  #params: Params | undefined;

  constructor(url: unknown, base?: unknown) {
    this.#p = parse(String(url), base === undefined ? undefined : parse(String(base)));
  }

  static canParse(url: unknown, base?: unknown): boolean { return Location.parse(url, base) !== null; }

  static parse(url: unknown, base?: unknown): Location | null {
    try {
      return new Location(url, base);
    } catch {
      return null;
    }
  }

  /** try changes a part; what is wrong changes nothing. */
  #try(change: (p: Parts) => void): void {
    const p = { ...this.#p, path: [...this.#p.path] };
    try {
      change(p);
      this.#p = p;
    } catch { /* as the standard wants it */ }
  }

  get #login(): boolean { return this.#p.host !== null && this.#p.host !== "" && this.#p.scheme !== "file"; }

  get href(): string { return write(this.#p); }
  set href(url: string) {
    this.#p = parse(String(url));
    if (this.#params) Params.reset(this.#params, this.#p.query ?? "");
  }
  get origin(): string {
    const { scheme, host, port } = this.#p;
    return scheme in ports && scheme !== "file" ? `${scheme}://${host}${port && ":" + port}` : "null";
  }
  get protocol(): string { return this.#p.scheme + ":"; }
  set protocol(v: string) {
    const scheme = /^([A-Za-z][A-Za-z0-9+.\-]*)(:|$)/.exec(String(v))?.[1]?.toLowerCase();
    if (scheme === undefined || (scheme in ports) !== special(this.#p) || scheme === "file" || this.#p.scheme === "file") return;
    this.#try((p) => { p.scheme = scheme; if (p.port === ports[scheme]) p.port = ""; });
  }
  get username(): string { return this.#p.user; }
  set username(v: string) { if (this.#login) this.#p.user = percent(String(v), kept.user); }
  get password(): string { return this.#p.password; }
  set password(v: string) { if (this.#login) this.#p.password = percent(String(v), kept.user); }
  get host(): string { return (this.#p.host ?? "") + (this.#p.port && ":" + this.#p.port); }
  set host(v: string) { this.#try((p) => { if (p.opaque === null) setHost(p, this.#address(v)); }); }
  get hostname(): string { return this.#p.host ?? ""; }
  set hostname(v: string) {
    const name = this.#address(v);
    if (/^[^:]*$|^\[/.test(name)) this.host = name;
  }
  #address(v: string): string { return /^[^/?#\\]*/.exec(String(v))![0]; }
  get port(): string { return this.#p.port; }
  set port(v: string) {
    const digits = /^\d*/.exec(String(v))![0];
    if (this.#login && (digits !== "" || v === "")) this.#try((p) => { p.port = ""; if (digits !== "") setPort(p, digits); });
  }
  get pathname(): string { return path(this.#p); }
  set pathname(v: string) {
    this.#try((p) => {
      if (p.opaque !== null) return;
      const text = special(p) ? String(v).replaceAll("\\", "/") : String(v);
      setPath(p, text.startsWith("/") || text === "" ? text : "/" + text);
    });
  }
  get search(): string { return this.#p.query ? "?" + this.#p.query : ""; }
  set search(v: string) {
    const query = String(v).replace(/^\?/, "");
    this.#p.query = v === "" ? null : percent(query, special(this.#p) ? specialQuery : kept.query);
    if (this.#params) Params.reset(this.#params, query);
  }
  get searchParams(): Params {
    return this.#params ??= new Params(this.#p.query ?? "", (query) => { this.#p.query = query === "" ? null : query; });
  }
  get hash(): string { return this.#p.fragment ? "#" + this.#p.fragment : ""; }
  set hash(v: string) { this.#p.fragment = v === "" ? null : percent(String(v).replace(/^#/, ""), kept.fragment); }

  toString(): string { return this.href; }
  toJSON(): string { return this.href; }
}
