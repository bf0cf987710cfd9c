import { Kind, Value } from "./value";

// How deep a value may be nested: what reads it calls itself.
const MAX_DEPTH = 200;

const QUOTE = 0x22, BACKSLASH = 0x5c, COMMA = 0x2c, MINUS = 0x2d, ZERO = 0x30;

/** Reads JSON. Each method returns null where the text is not what it reads. */
export class Reader {
  at: i32 = 0;

  constructor(private text: string) {}

  // @ts-ignore: decorator
  @inline private peek(): i32 { return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1; }

  space(): void {
    for (let c = this.peek(); c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09; c = this.peek()) this.at++;
  }

  /** Skips a character when it is the next. */
  private skip(c: i32): bool {
    const is = this.peek() == c;
    if (is) this.at++;
    return is;
  }

  private word(word: string, v: Value): Value | null {
    if (this.text.substr(this.at, word.length) != word) return null;
    this.at += word.length;
    return v;
  }

  value(depth: i32): Value | null {
    if (depth > MAX_DEPTH) return null;
    this.space();
    const c = this.peek();
    if (c == 0x7b) return this.object(depth);
    if (c == 0x5b) return this.array(depth);
    if (c == QUOTE) {
      const s = this.string();
      return s == null ? null : Value.string(s);
    }
    if (c == 0x74) return this.word("true", Value.bool(true));
    if (c == 0x66) return this.word("false", Value.bool(false));
    return c == 0x6e ? this.word("null", Value.null()) : this.number();
  }

  private array(depth: i32): Value | null {
    const v = new Value(Kind.Array);
    this.at++;
    this.space();
    if (this.skip(0x5d)) return v;
    do {
      const item = this.value(depth + 1);
      if (item == null) return null;
      v.items.push(item);
      this.space();
    } while (this.skip(COMMA));
    return this.skip(0x5d) ? v : null;
  }

  private object(depth: i32): Value | null {
    const v = new Value(Kind.Object);
    this.at++;
    this.space();
    if (this.skip(0x7d)) return v;
    do {
      this.space();
      if (this.peek() != QUOTE) return null;
      const key = this.string();
      this.space();
      if (key == null || !this.skip(0x3a)) return null;
      const item = this.value(depth + 1);
      if (item == null) return null;
      v.set(key, item);
      this.space();
    } while (this.skip(COMMA));
    return this.skip(0x7d) ? v : null;
  }

  private digits(): bool {
    const begin = this.at;
    for (let c = this.peek(); c >= ZERO && c <= 0x39; c = this.peek()) this.at++;
    return this.at > begin;
  }

  private number(): Value | null {
    const begin = this.at;
    this.skip(MINUS);
    if (!this.skip(ZERO) && !this.digits()) return null;
    if (this.skip(0x2e) && !this.digits()) return null;
    if (this.skip(0x65) || this.skip(0x45)) {
      if (!this.skip(0x2b)) this.skip(MINUS);
      if (!this.digits()) return null;
    }
    return Value.number(this.text.substring(begin, this.at));
  }

  private string(): string | null {
    this.at++;
    const parts: Array<string> = [];
    while (true) {
      const begin = this.at;
      let c = this.peek();
      while (c != QUOTE && c != BACKSLASH && c >= 0x20) {
        this.at++;
        c = this.peek();
      }
      const part = this.text.substring(begin, this.at++);
      if (c == QUOTE && parts.length == 0) return part; // as most strings are
      parts.push(part);
      if (c == QUOTE) return parts.join("");
      const escaped = c == BACKSLASH ? this.escape() : -1;
      if (escaped < 0) return null;
      parts.push(String.fromCharCode(escaped));
    }
  }

  /** The character, or half of one, behind a backslash; -1 when there is none. */
  private escape(): i32 {
    const c = this.peek();
    this.at++;
    if (c == QUOTE || c == BACKSLASH || c == 0x2f) return c;
    if (c == 0x62) return 0x08;
    if (c == 0x66) return 0x0c;
    if (c == 0x6e) return 0x0a;
    if (c == 0x72) return 0x0d;
    if (c == 0x74) return 0x09;
    if (c != 0x75) return -1;
    let unit = 0;
    for (let i = 0; i < 4; i++) {
      const digit = hex(this.peek());
      if (digit < 0) return -1;
      unit = unit << 4 | digit;
      this.at++;
    }
    return unit;
  }
}

function hex(c: i32): i32 {
  if (c >= ZERO && c <= 0x39) return c - ZERO;
  const letter = c | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1;
}
