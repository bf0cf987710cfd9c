/** clone is structuredClone: what has no identity of its own is copied, cycles included; functions and symbols are refused. */
export function clone<T>(value: T): T {
  return copy(value, new Map());
}

function copy(value: any, seen: Map<object, object>): any {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new TypeError(`${String(value).slice(0, 60)} cannot be cloned`);
  }
  if (typeof value !== "object" || value === null) return value;
  const known = seen.get(value);
  if (known) return known;
  const [made, fill] = shell(value, seen);
  seen.set(value, made);
  fill();
  return made;
}

/** shell makes the copy without what it holds, which may lead back to it. */
function shell(value: any, seen: Map<object, object>): [object, () => void] {
  const nothing = (): void => {};
  if (value instanceof Date) return [new Date(value.getTime()), nothing];
  if (value instanceof RegExp) return [new RegExp(value.source, value.flags), nothing];
  if (value instanceof Boolean || value instanceof Number || value instanceof String) return [Object(value.valueOf()), nothing];
  if (value instanceof ArrayBuffer) return [value.slice(0), nothing];
  if (ArrayBuffer.isView(value)) {
    const v = value as any;
    return [new v.constructor(copy(v.buffer, seen), v.byteOffset, v.length ?? v.byteLength), nothing];
  }
  if (value instanceof Map) {
    const made = new Map();
    return [made, () => value.forEach((v, k) => made.set(copy(k, seen), copy(v, seen)))];
  }
  if (value instanceof Set) {
    const made = new Set();
    return [made, () => value.forEach((v) => made.add(copy(v, seen)))];
  }
  if (value instanceof Error) {
    const made = new Error(value.message) as any;
    return [made, () => {
      for (const key of ["name", "stack", "cause"]) {
        if (key in value) Object.defineProperty(made, key, { value: copy((value as any)[key], seen), writable: true, configurable: true });
      }
    }];
  }
  const made: any = Array.isArray(value) ? new Array(value.length) : {};
  return [made, () => {
    for (const key of Object.keys(value)) made[key] = copy(value[key], seen);
  }];
}
