import * as host from "./host";
import { Failure, report } from "./failure";
import { Value } from "./value";

/** What the compiler calls for throw and for a failed assert, with the option --use abort=...: it fails the run with code panic. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const place = Value.object().set("file", Value.string(file == null ? "" : file)).set("line", Value.int(line)).set("column", Value.int(column));
  report(new Failure("panic", message == null ? "abort" : message).withDetails(place));
  host.exit();
  unreachable();
}
