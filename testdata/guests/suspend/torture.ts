// A workflow in AssemblyScript that waits in recursion, in closures that a sort calls, behind virtual methods and with
// objects of its garbage collector alive. Tests freeze it at every wait. With assemblyscript 0.28 of npm:
//
//     npx asc torture.ts -O -o torture-as.wasm --use abort=torture/abort

@external("reprise_v1", "input") declare function input(ptr: usize, cap: i32): i32;
@external("reprise_v1", "output") declare function output(ptr: usize, len: i32): void;
@external("reprise_v1", "effect") declare function effect(name: usize, nameLen: i32, input: usize, inputLen: i32, options: usize, optionsLen: i32): i32;
@external("reprise_v1", "wait") declare function wait(handles: usize, n: i32, timeout: i64, ready: usize, cap: i32): i32;
@external("reprise_v1", "result") declare function result(handle: i32, ptr: usize, cap: i32): i32;
@external("reprise_v1", "drop") declare function dropHandle(handle: i32): void;

function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  unreachable();
}

const handles = memory.data(8);
const answer = memory.data(64);
let hash: i64 = 7;

function mix(v: i64): void {
  hash = (hash ^ v) * 1099511628211;
}

// ask waits for the answer to a number and makes one of it.
function ask(k: i32): i32 {
  const name = String.UTF8.encode("test.ask"), text = String.UTF8.encode((k & 0xffff).toString());
  const handle = effect(changetype<usize>(name), name.byteLength, changetype<usize>(text), text.byteLength, 0, 0);
  store<i32>(handles, handle);
  assert(wait(handles, 1, -1, handles + 4, 1) == 1);
  const n = result(handle, answer, 64);
  dropHandle(handle);
  let sum = 0;
  for (let i = 0; i < n; i++) sum = sum * 7 + load<u8>(answer + i);
  mix(sum);
  return sum & 0xffff;
}

abstract class Step {
  abstract go(x: f64): f64;
}

class Add extends Step {
  constructor(private by: i32) { super(); }
  go(x: f64): f64 { return x + f64(ask(this.by) % 11); }
}

class Times extends Step {
  constructor(private by: f32) { super(); }
  go(x: f64): f64 { return x * f64(this.by * f32(ask(3) % 3)); }
}

class Keep extends Step {
  go(x: f64): f64 { return x; }
}

function deep(n: i32, sum: i64): i64 {
  if (n > 0) return deep(n - 1, sum + n) * 3 + n;
  return sum + ask(i32(sum));
}

function jumps(x: i32): i32 {
  let r = 0;
  while (x < 40) {
    switch (x % 5) {
      case 0: r += ask(x); x += 1; continue;
      case 1: r ^= (ask(x) & 1) ? ask(r & 7) : 5; x += 2; break;
      case 2: do { r += ask(x) & 7; x++; } while (x % 4 != 0); break;
      case 3: if (r > 90000) return r;
      default: x += 3;
    }
  }
  return r;
}

export function reprise_run(): i32 {
  const n = input(answer, 64);
  const rounds = i32.parse(String.UTF8.decodeUnsafe(answer, n));
  for (let round = 0; round < rounds; round++) {
    const values = new Array<i32>();
    for (let i = 0; i < 9; i++) values.push(ask(i + round) % 97);
    values.sort((a, b) => { ask(a - b); return a - b; });
    for (let i = 0; i < values.length; i++) mix(values[i]);
    const steps: Step[] = [new Add(1), new Times(1.5), new Keep(), new Add(round)];
    let x: f64 = 0.1;
    for (let i = 0; i < 8; i++) x = steps[ask(i) % 4].go(x);
    mix(reinterpret<i64>(x));
    const map = new Map<i32, string>();
    for (let i = 0; i < 6; i++) map.set(ask(i) % 4, ask(i + 50).toString() + "/" + i.toString());
    const keys = map.keys();
    for (let i = 0; i < keys.length; i++) mix(map.get(keys[i]).length + keys[i]);
    __collect();
    mix(deep(60, round));
    mix(jumps(round));
    mix(values.map<i32>((v) => v * (ask(v) & 3)).reduce((a, v) => a + v, 0));
  }
  const out = String.UTF8.encode(hash.toString());
  output(changetype<usize>(out), out.byteLength);
  return 0;
}
