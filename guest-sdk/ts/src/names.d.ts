// The global names that a program finds beside those of the language. Include lib "es2024" and no "dom".

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: { type: "abort" }) => void) | null;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: (event: { type: "abort" }) => void, options?: { once?: boolean } | boolean): void;
  removeEventListener(type: "abort", listener: (event: { type: "abort" }) => void): void;
}
declare const AbortSignal: {
  abort(reason?: unknown): AbortSignal;
  /** A durable timer. */
  timeout(milliseconds: number): AbortSignal;
  any(signals: Iterable<AbortSignal>): AbortSignal;
};
interface AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare const AbortController: { new (): AbortController };

/** Lines of the run's log, silent in replay. */
declare const console: Record<"debug" | "trace" | "log" | "info" | "warn" | "error", (...values: unknown[]) => void>;

/** Durable timers. */
declare function setTimeout(f: (...args: any[]) => void, milliseconds?: number, ...args: unknown[]): number;
declare function setInterval(f: (...args: any[]) => void, milliseconds?: number, ...args: unknown[]): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
declare function queueMicrotask(f: () => void): void;

declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;

/** The same in every replay: not for secrets. */
declare const crypto: {
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  randomUUID(): string;
};

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  decode(bytes?: ArrayBuffer | ArrayBufferView): string;
}
