// The module conformance-assemblyscript.wasm: the programs of guest-sdk/conformance, in AssemblyScript.
import { defineActivity, Value, workflow } from "../assembly";
import * as a from "./activities";
import * as w from "./workflows";

export { reprise_run } from "../assembly";

defineActivity<i64, i64>("double", a.double);
defineActivity<ArrayBuffer, ArrayBuffer>("echo", a.echo);
defineActivity<i32, string>("repeat", a.repeat);
defineActivity<string, i32>("length", a.length);
defineActivity<Value, Value>("hang", a.hang);
defineActivity<string, Value>("decline", a.decline);
defineActivity<Value, i32>("flaky", a.flaky);

workflow<i64, i64>("sequential", w.sequential);
workflow<Value, Array<i64>>("parallel", w.parallel);
workflow<Value, string>("race", w.race);
workflow<Value, Value>("caught", w.caught);
workflow<Value, i64>("flaky", w.flaky);
workflow<Value, bool>("timer", w.timed);
workflow<Value, Array<Value>>("signal", w.signals);
workflow<i64, w.Child>("child", w.children);
workflow<i64, string>("again", w.again);
workflow<Value, Value>("cleanup", w.cleanup);
workflow<Value, Value>("large", w.large);
workflow<Value, Value>("numbers", w.numbers);
workflow<Value, string>("unicode", w.unicode);
workflow<i64, i64>("deep", w.deep);
workflow<Value, i64>("overflow", w.overflow);
workflow<Value, Value>("hungry", w.hungry);
workflow<Value, Value>("panics", w.panics);
