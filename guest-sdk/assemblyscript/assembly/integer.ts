import { expected } from "./convert";

/** Reads an integer without going through a float. What does not fit its type is a mismatch. */
export function parseInteger<T>(text: string, at: string): T {
  const negative = text.startsWith("-");
  let n: u64 = 0;
  let fits = true;
  for (let i = <i32>negative; i < text.length; i++) {
    const digit = <u64>text.charCodeAt(i) - 0x30;
    fits = fits && digit <= 9 && n <= (u64.MAX_VALUE - digit) / 10;
    n = n * 10 + digit;
  }
  const bits: u64 = sizeof<T>() * 8;
  const most: u64 = isSigned<T>() ? (<u64>1 << (bits - 1)) - 1 : u64.MAX_VALUE >> (64 - bits);
  // A signed type has one more below zero than above.
  const least: u64 = isSigned<T>() ? most + 1 : 0;
  if (!fits || n > (negative ? least : most)) expected((isSigned<T>() ? "an integer of " : "an unsigned integer of ") + bits.toString() + " bits", at, text);
  return <T>(negative ? 0 - n : n);
}
