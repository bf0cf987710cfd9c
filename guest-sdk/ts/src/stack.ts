import * as host from "./host";

// The engine's stacks name lines of the bundle; the asset main.js.map says which line of which source each came from. It is
// read when the first stack is shown, so a run that does not fail pays nothing for it.

interface Place { column: number; source: number; line: number; sourceColumn: number }

let map: { sources: string[]; lines: string[] } | undefined;

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function load(): { sources: string[]; lines: string[] } {
  const text = host.asset("main.js.map");
  if (text === undefined) return { sources: [], lines: [] };
  const { sources, mappings } = JSON.parse(text) as { sources: string[]; mappings: string };
  return { sources, lines: mappings.split(";") };
}

/** place is where a column of the bundle came from. Numbers are differences from one segment of a line to the next. */
function place(line: string, column: number): Place | undefined {
  let found: Place | undefined, at = { column: 0, source: 0, line: 0, sourceColumn: 0 };
  for (const segment of line.split(",")) {
    const [c = 0, s, l = 0, k = 0] = numbers(segment);
    if (at.column + c > column) break;
    at = { column: at.column + c, source: at.source + (s ?? 0), line: at.line + l, sourceColumn: at.sourceColumn + k };
    if (s !== undefined) found = at;
  }
  return found;
}

/** numbers reads the base-64 VLQ numbers of a source map's segment. */
function numbers(segment: string): number[] {
  const all: number[] = [];
  let value = 0, shift = 0;
  for (const c of segment) {
    const digit = digits.indexOf(c);
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    all.push(value & 1 ? -(value >>> 1) : value >>> 1);
    value = shift = 0;
  }
  return all;
}

/** What begins the name of a source that is the SDK's own. */
const own = "reprise:";

/** mapped is an error's stack with the lines of the sources. Frames of the SDK are left out. */
export function mapped(error: Error): string {
  const stack = typeof error.stack === "string" ? error.stack : "";
  map ??= load();
  const { sources, lines } = map;
  const frames: string[] = [];
  for (const frame of stack.split("\n")) {
    if (frame.trim() === "") continue;
    let internal = false;
    const shown = frame.replace(/main\.js:(\d+):(\d+)/, (all, l, c) => {
      const from = place(lines[l - 1] ?? "", c - 1);
      if (!from) return all;
      const name = sources[from.source] ?? "";
      internal = name.startsWith(own);
      return `${name}:${from.line + 1}:${from.sourceColumn + 1}`;
    });
    if (!internal) frames.push(shown);
  }
  return frames.join("\n");
}
