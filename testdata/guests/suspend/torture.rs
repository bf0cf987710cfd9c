//! A workflow that waits in as many places as a Rust program has for it: in closures that a sort calls, behind trait objects,
//! in iterators, in maps and queues, in recursion. Tests freeze it at every wait. `make fixtures-guests` builds it without
//! optimisation, for speed and for size.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

#[link(wasm_import_module = "reprise_v1")]
extern "C" {
    fn input(ptr: *mut u8, cap: usize) -> usize;
    fn output(ptr: *const u8, len: usize);
    fn effect(name: *const u8, name_len: usize, input: *const u8, input_len: usize, options: *const u8, options_len: usize) -> i32;
    fn wait(handles: *const i32, n: usize, timeout: i64, ready: *mut i32, cap: usize) -> usize;
    fn result(handle: i32, ptr: *mut u8, cap: usize) -> usize;
    fn drop(handle: i32);
}

/// Waits for the answer to a number and makes one of it.
fn ask(k: i64) -> i64 {
    let (name, text) = ("test.ask", (k & 0xff_ffff).to_string());
    let (mut ready, mut answer) = ([0], [0; 64]);
    let n = unsafe {
        let handle = effect(name.as_ptr(), name.len(), text.as_ptr(), text.len(), std::ptr::null(), 0);
        assert_eq!(wait(&handle, 1, -1, ready.as_mut_ptr(), 1), 1);
        assert_eq!(ready[0], handle);
        let n = result(handle, answer.as_mut_ptr(), answer.len());
        drop(handle);
        n
    };
    answer[..n].iter().fold(0, |sum, b| (sum * 7 + i64::from(*b)) & 0xffff)
}

trait Step {
    fn step(&self, x: f64) -> f64;
}

struct Add(i64);
struct Times(f64);
struct All(Vec<Box<dyn Step>>);

impl Step for Add {
    fn step(&self, x: f64) -> f64 {
        x + (ask(self.0) % 11) as f64
    }
}

impl Step for Times {
    fn step(&self, x: f64) -> f64 {
        x * self.0
    }
}

impl Step for All {
    fn step(&self, x: f64) -> f64 {
        self.0.iter().fold(x, |x, s| s.step(x))
    }
}

fn ackermann(m: i64, n: i64) -> i64 {
    match (m, n) {
        (0, n) => n + 1 + (ask(n) & 1),
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1).min(3)),
    }
}

fn round(n: i64, mut h: i64) -> i64 {
    let mut values: Vec<i64> = (0..9).map(|i| ask(i + n) % 97).collect();
    values.sort_by(|a, b| {
        ask(a - b);
        a.cmp(b)
    });
    for v in &values {
        h = h.wrapping_mul(31).wrapping_add(*v);
    }
    let mut map = BTreeMap::new();
    for i in 0..12 {
        *map.entry(ask(i) % 5).or_insert_with(|| ask(i + 100)) += i;
    }
    for (k, v) in &map {
        h = h.wrapping_mul(131).wrapping_add(k ^ v);
    }
    let nested = All(vec![Box::new(Add(2)), Box::new(Add(3))]);
    h ^= All(vec![Box::new(Add(1)), Box::new(Times(1.5)), Box::new(nested), Box::new(Add(n))]).step(n as f64) as i64;
    let mut queue: VecDeque<i64> = (0..5).collect();
    while let Some(x) = queue.pop_front() {
        match ask(x) % 4 {
            0 if x < 20 => queue.push_back(x + 7),
            1 => h = h.wrapping_add(ask(h & 15)),
            2 => {
                if let Ok(v) = format!("{}", ask(x)).parse::<i64>() {
                    h ^= v;
                }
            }
            _ => h = h.rotate_left(3),
        }
    }
    std::thread::sleep(Duration::from_millis(n as u64 + 1)); // the other wait
    let text: String = (0..4).map(|i| char::from(b'a' + (ask(i) % 26) as u8)).collect();
    let wide = (0..3).fold(1u128, |w, i| w.wrapping_mul(0x1_0000_0000_1357) + ask(i) as u128);
    h ^= (wide >> 61) as i64 ^ ackermann(2, 2);
    let answers: [f32; 4] = [0.5, 1.5, -2.5, 1e30].map(|x| x * ask(x as i64 & 7) as f32);
    h ^= answers.iter().zip(&values).filter(|(_, v)| ask(**v) & 1 == 0).fold(0, |s: i64, (a, _)| s.wrapping_add(i64::from(a.to_bits())));
    text.bytes().fold(h, |h, b| h.wrapping_mul(33) ^ i64::from(b))
}

#[no_mangle]
pub extern "C" fn reprise_run() -> i32 {
    let mut text = vec![0; unsafe { input(std::ptr::null_mut(), 0) }];
    unsafe { input(text.as_mut_ptr(), text.len()) };
    let rounds: i64 = String::from_utf8(text).unwrap().parse().unwrap();
    let out = (0..rounds).fold(7, |h, n| round(n, h)).to_string();
    unsafe { output(out.as_ptr(), out.len()) };
    0
}
