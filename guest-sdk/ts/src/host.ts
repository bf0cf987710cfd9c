// The calls of the contract, as the engine's adapter offers them: one function, whose first argument says what is wanted.
// The adapter (engine/adapter.wat) has the same numbers.

/** A payload: text, or bytes as they are. */
export type Payload = string | ArrayBuffer;

declare const __reprise: (op: number, a?: Payload | number, b?: Payload | number, c?: string) => any;

const call = __reprise;
delete (globalThis as any).__reprise;

/** Pending, ok, failed, cancelled, timed out: as the contract numbers what a handle can be. */
export const OK = 1, CANCELLED = 3, TIMED_OUT = 4;

/** The kinds of entry. */
export const WORKFLOW = 0, ACTIVITY = 1, DESCRIBE = 3;

export const entryKind = (): number => call(0);
export const entry = (): string => call(1);
export const info = (): string => call(2);
export const input = (): string => call(3);
export const output = (payload: Payload): void => call(4, payload);
export const fail = (text: string): void => call(5, text);
export const effect = (name: string, input: Payload, options: string): number => call(6, name, input, options);
export const activity = (name: string, input: Payload, options: string): number => call(7, name, input, options);
export const timer = (nanoseconds: number): number => call(8, nanoseconds);
export const signal = (name: string): number => call(9, name);
export const status = (handle: number): number => call(10, handle);
export const result = (handle: number): string => call(11, handle);
export const cancel = (handle: number): void => call(12, handle);
export const drop = (handle: number): void => call(13, handle);
export const cancelHandle = (): number => call(14);
export const random = (): number => call(15);
export const asset = (name: string): string | undefined => call(16, name);
export const log = (level: number, line: string): void => call(17, level, line);
export const publish = (key: string, value: Payload): void => call(18, key, value);

/** watch and unwatch say which handles the adapter waits for when no JavaScript is left to run. */
export const watch = (handle: number): void => call(19, handle);
export const unwatch = (handle: number): void => call(20, handle);

/** take gives the next handle that the last wait found done, -1 when there is none. */
export const take = (): number => call(21);

/** ended says that the entry is over. */
export const ended = (ok: boolean): void => call(22, ok ? 1 : 2);

/** The same as input and result, as bytes. */
export const inputBytes = (): ArrayBuffer => call(23, 3, 0);
export const resultBytes = (handle: number): ArrayBuffer => call(23, 11, handle);

/** The UTF-8 of a text without lone surrogates, and back. */
export const encode = (text: string): ArrayBuffer => call(24, text);
export const decode = (bytes: ArrayBuffer): string => call(25, bytes);

export const child = (workflow: string, input: Payload, options: string): number => call(26, workflow, input, options);
export const continueAsNew = (input: Payload): void => call(27, input);
