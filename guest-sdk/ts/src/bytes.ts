import * as host from "./host";

// Bytes, UTF-8 and base64.

/** buffer is the bytes of a view, and of nothing else. */
export function buffer(b: ArrayBuffer | ArrayBufferView): ArrayBuffer {
  if (b instanceof ArrayBuffer) return b;
  const { buffer, byteOffset, byteLength } = b;
  return (byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength)) as ArrayBuffer;
}

/** encodeUTF8 writes lone surrogates as U+FFFD. */
export function encodeUTF8(text: string): Uint8Array {
  return new Uint8Array(host.encode(text.toWellFormed()));
}

/** decodeUTF8 lets the engine decode what is UTF-8, which is what comes out as it went in. */
export function decodeUTF8(bytes: Uint8Array, fatal: boolean): string {
  const text = host.decode(buffer(bytes));
  const sound = text.isWellFormed() && !text.includes("\ufffd") && host.encode(text).byteLength === bytes.byteLength;
  return sound ? text : decodeBroken(bytes, fatal);
}

/** decodeBroken makes U+FFFD of each longest start of a sequence that does not go on, as the Encoding Standard says. */
function decodeBroken(bytes: Uint8Array, fatal: boolean): string {
  let out = "", point = 0, needed = 0, low = 0x80, high = 0xbf;
  const broken = (): void => {
    if (fatal) throw new TypeError("the bytes are not UTF-8");
    out += "\ufffd";
    needed = 0, low = 0x80, high = 0xbf;
  };
  for (let i = 0; i < bytes.length; i++) {
    const b = bytes[i]!;
    if (needed > 0) {
      if (b < low || b > high) {
        broken();
        i--; // it may begin another character
        continue;
      }
      low = 0x80, high = 0xbf;
      point = point << 6 | b & 63;
      if (--needed === 0) out += String.fromCodePoint(point);
    } else if (b < 0x80) {
      out += String.fromCharCode(b);
    } else if (b >= 0xc2 && b < 0xe0) {
      needed = 1, point = b & 31;
    } else if (b >= 0xe0 && b < 0xf0) {
      needed = 2, point = b & 15;
      if (b === 0xe0) low = 0xa0;
      if (b === 0xed) high = 0x9f;
    } else if (b >= 0xf0 && b < 0xf5) {
      needed = 3, point = b & 7;
      if (b === 0xf0) low = 0x90;
      if (b === 0xf4) high = 0x8f;
    } else {
      broken();
    }
  }
  if (needed > 0) broken();
  return out;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

export function toBase64(bytes: Uint8Array): string {
  let out = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const n = bytes[i]! << 16 | (bytes[i + 1] ?? 0) << 8 | (bytes[i + 2] ?? 0);
    out += alphabet[n >> 18]! + alphabet[n >> 12 & 63]!;
    out += i + 1 < bytes.length ? alphabet[n >> 6 & 63]! : "=";
    out += i + 2 < bytes.length ? alphabet[n & 63]! : "=";
  }
  return out;
}

export function fromBase64(text: string): Uint8Array {
  const out: number[] = [];
  let n = 0, bits = 0;
  for (const c of text.replace(/\s|=+$/g, "")) {
    const v = alphabet.indexOf(c);
    if (v < 0) throw new TypeError("the text is not base64");
    n = (n << 6 | v) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push(n >> bits & 255);
    }
  }
  return Uint8Array.from(out);
}
