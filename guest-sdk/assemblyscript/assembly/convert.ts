import { utf8 } from "./host";
import { parseInteger } from "./integer";
import { Kind, Value } from "./value";
import { Writer } from "./writer";

// What can be a payload: integers, floats, booleans, strings, Value, arrays of these, classes with the methods toJson and
// fromJson, and ArrayBuffer, whose bytes are the payload as they are.

// What the value that is being read does not fit, and where; "" as long as it fits.
let mismatch: string = "";

/** Notes that a value is not what is wanted. What is noted first counts. */
export function expected(what: string, at: string, got: string): void {
  if (mismatch == "") mismatch = (at == "" ? "" : at + ": ") + "got " + got + ", want " + what;
}

/** What a payload did not fit, since this was asked the last time; "" when it fitted. */
export function takeMismatch(): string {
  const was = mismatch;
  mismatch = "";
  return was;
}

/** Nothing, of any type. */
export function zero<T>(): T {
  if (isReference<T>()) return changetype<T>(0);
  return <T>0;
}

/** Writes a value. */
export function write<T>(w: Writer, v: T): void {
  if (isBoolean<T>()) w.bool(<bool>v);
  else if (isInteger<T>()) {
    if (isSigned<T>()) w.int(<i64>v);
    else w.uint(<u64>v);
  } else if (isFloat<T>()) w.float(<f64>v);
  else if (isNullable<T>() && changetype<usize>(v) == 0) w.null();
  else if (isString<T>()) w.string(changetype<string>(v));
  else if (isArray<T>()) {
    w.array();
    for (let i = 0; i < v.length; i++) write<valueof<T>>(w, v[i]);
    w.end();
  } else v.toJson(w);
}

/** Makes something of a value. at says where in the payload that is. */
export function read<T>(v: Value, at: string): T {
  if (isBoolean<T>()) {
    if (v.kind != Kind.Bool) expected("a boolean", at, v.name);
    return <T>(v.text == "true");
  } else if (isInteger<T>()) {
    if (v.kind != Kind.Number) {
      expected("an integer", at, v.name);
      return zero<T>();
    }
    return parseInteger<T>(v.text, at);
  } else if (isFloat<T>()) {
    if (v.kind != Kind.Number) expected("a number", at, v.name);
    return <T>parseFloat(v.text);
  } else if (isNullable<T>() && v.isNull) {
    return zero<T>();
  } else if (isString<T>()) {
    if (v.kind != Kind.String) expected("a string", at, v.name);
    return changetype<T>(v.text);
  } else if (isArray<T>()) {
    if (v.kind != Kind.Array) expected("an array", at, v.name);
    const out = instantiate<T>();
    for (let i = 0; i < v.items.length; i++) out.push(read<valueof<T>>(v.items[i], at + "[" + i.toString() + "]"));
    return out;
  } else if (idof<T>() == idof<Value>()) {
    return changetype<T>(v);
  } else {
    if (v.kind != Kind.Object) expected("an object", at, v.name);
    const out = instantiate<T>();
    out.fromJson(new Fields(v, at));
    return out;
  }
}

/** The fields of an object that is read. */
export class Fields {
  constructor(private object: Value, private path: string) {}

  /** Whether there is a field that is not null. */
  has(key: string): bool {
    const v = this.object.get(key);
    return v != null && !v.isNull;
  }

  /** A field, which must be there. */
  get<T>(key: string): T {
    const at = this.path == "" ? key : this.path + "." + key;
    const v = this.object.get(key);
    if (v == null) expected("a value", at, "nothing");
    return read<T>(v == null ? Value.null() : v, at);
  }

  /** A field, or something else when there is none, or null. */
  getOr<T>(key: string, other: T): T { return this.has(key) ? this.get<T>(key) : other; }
}

/** The payload of a value. */
export function encode<T>(v: T): ArrayBuffer {
  if (isReference<T>()) {
    if (idof<T>() == idof<ArrayBuffer>()) return changetype<ArrayBuffer>(v);
  }
  const w = new Writer();
  write<T>(w, v);
  return utf8(w.toString());
}

/** Makes something of a payload; takeMismatch says whether it fits. No bytes are null. */
export function decode<T>(b: ArrayBuffer): T {
  if (isReference<T>()) {
    if (idof<T>() == idof<ArrayBuffer>()) return changetype<T>(b);
  }
  const v = b.byteLength == 0 ? Value.null() : Value.parse(String.UTF8.decode(b));
  if (v == null) expected("JSON", "", "something else");
  return read<T>(v == null ? Value.null() : v, "");
}
