import { Reader } from "./reader";
import { Writer } from "./writer";

/** What a JSON value is. */
export enum Kind { Null, Bool, Number, String, Array, Object }

/** A JSON value. Numbers are kept as they are written, so that no integer is rounded, and keys in the order in which they came. */
export class Value {
  /** The text of a string or of a number; "true" of what is true. */
  text: string = "";
  /** The elements of an array, or the values of an object. */
  items: Array<Value> = [];
  /** The keys of an object. */
  keys: Array<string> = [];

  constructor(public kind: Kind = Kind.Null) {}

  /** Reads a value; null when the text is not JSON, or is nested more than 200 deep. */
  static parse(text: string): Value | null {
    const reader = new Reader(text);
    const v = reader.value(0);
    reader.space();
    return reader.at == text.length ? v : null;
  }

  static null(): Value { return new Value(); }

  static bool(b: bool): Value {
    const v = new Value(Kind.Bool);
    v.text = b ? "true" : "false";
    return v;
  }

  static int(n: i64): Value { return Value.number(n.toString()); }

  /** A number as it is written. */
  static number(text: string): Value {
    const v = new Value(Kind.Number);
    v.text = text;
    return v;
  }

  static string(text: string): Value {
    const v = new Value(Kind.String);
    v.text = text;
    return v;
  }

  static array(items: Array<Value>): Value {
    const v = new Value(Kind.Array);
    v.items = items;
    return v;
  }

  static object(): Value { return new Value(Kind.Object); }

  /** Adds a pair to an object, and returns it. */
  set(key: string, v: Value): Value {
    this.keys.push(key);
    this.items.push(v);
    return this;
  }

  /** The value of a key, of several the last; null when there is none, and when this is no object. */
  get(key: string): Value | null {
    for (let i = this.keys.length - 1; i >= 0; i--) {
      if (this.keys[i] == key) return this.items[i];
    }
    return null;
  }

  get isNull(): bool { return this.kind == Kind.Null; }

  /** Its JSON. */
  toString(): string {
    const w = new Writer();
    this.toJson(w);
    return w.toString();
  }

  toJson(w: Writer): void {
    if (this.kind == Kind.String) {
      w.string(this.text);
    } else if (this.kind == Kind.Array) {
      w.array();
      for (let i = 0; i < this.items.length; i++) this.items[i].toJson(w);
      w.end();
    } else if (this.kind == Kind.Object) {
      w.object();
      for (let i = 0; i < this.items.length; i++) this.items[i].toJson(w.key(this.keys[i]));
      w.end();
    } else {
      w.raw(this.kind == Kind.Null ? "null" : this.text);
    }
  }

  /** What kind of value this is, in words. */
  get name(): string {
    if (this.kind == Kind.Null) return "null";
    if (this.kind == Kind.Bool) return "a boolean";
    if (this.kind == Kind.Number) return "a number";
    if (this.kind == Kind.String) return "a string";
    return this.kind == Kind.Array ? "an array" : "an object";
  }
}
