/** Writes JSON, without spaces. Commas come by themselves. */
export class Writer {
  private parts: Array<string> = [];
  // What closes each array and object that is open.
  private open: Array<string> = [];
  private first: bool = true;

  private next(part: string): Writer {
    if (!this.first) this.parts.push(",");
    this.first = false;
    this.parts.push(part);
    return this;
  }

  private begin(bracket: string, end: string): Writer {
    this.next(bracket);
    this.open.push(end);
    this.first = true;
    return this;
  }

  /** Begins an object. */
  object(): Writer { return this.begin("{", "}"); }

  /** Begins an array. */
  array(): Writer { return this.begin("[", "]"); }

  /** Ends the array or object that was begun last. */
  end(): Writer {
    this.parts.push(this.open.pop());
    this.first = false;
    return this;
  }

  /** A key, to be followed by its value. */
  key(name: string): Writer {
    this.next(quote(name));
    this.parts.push(":");
    this.first = true;
    return this;
  }

  string(text: string): Writer { return this.next(quote(text)); }

  int(n: i64): Writer { return this.next(n.toString()); }

  uint(n: u64): Writer { return this.next(n.toString()); }

  bool(b: bool): Writer { return this.next(b ? "true" : "false"); }

  null(): Writer { return this.next("null"); }

  /** A number; what is none, or infinite, is null. */
  float(n: f64): Writer {
    if (!isFinite(n)) return this.null();
    const text = n.toString();
    return this.next(text.endsWith(".0") ? text.substring(0, text.length - 2) : text);
  }

  /** Text that is JSON already. */
  raw(json: string): Writer { return this.next(json); }

  toString(): string { return this.parts.join(""); }
}

const HEX = "0123456789abcdef";

/** A text in quotes, with the escapes that JSON demands. Half a character is escaped as well, since UTF-8 has none. */
function quote(text: string): string {
  const parts: Array<string> = ["\""];
  let begin = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 0x20 && c != 0x22 && c != 0x5c && (c < 0xd800 || c > 0xdfff)) continue;
    if (c >= 0xd800 && whole(text, i)) continue;
    parts.push(text.substring(begin, i));
    parts.push(escape(c));
    begin = i + 1;
  }
  parts.push(begin == 0 ? text : text.substring(begin));
  parts.push("\"");
  return parts.join("");
}

/** Says whether half a character has its other half beside it. */
function whole(text: string, i: i32): bool {
  const c = text.charCodeAt(i);
  if (c < 0xdc00) return i + 1 < text.length && (text.charCodeAt(i + 1) & 0xfc00) == 0xdc00;
  return i > 0 && (text.charCodeAt(i - 1) & 0xfc00) == 0xd800;
}

function escape(c: i32): string {
  if (c == 0x22) return "\\\"";
  if (c == 0x5c) return "\\\\";
  if (c == 0x0a) return "\\n";
  if (c == 0x0d) return "\\r";
  if (c == 0x09) return "\\t";
  if (c == 0x08) return "\\b";
  if (c == 0x0c) return "\\f";
  return "\\u" + HEX.charAt(c >> 12) + HEX.charAt(c >> 8 & 15) + HEX.charAt(c >> 4 & 15) + HEX.charAt(c & 15);
}
