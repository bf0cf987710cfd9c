//! The same workflow as ../c/steps.c and ../go/main.go: so many steps as the input says, each an effect that it waits
//! for; the output is the sum of their results.
//!
//!     /usr/bin/rustc --edition 2021 --target wasm32-wasi --crate-type cdylib -O -C panic=abort -C strip=symbols \
//!         -o testdata/guests/rust/steps.wasm testdata/guests/rust/steps.rs
//!
//! from the root, with rustc 1.63, lld and libstd-rust-dev-wasm32 of Debian 12; `make fixtures-guests` does it.

#[link(wasm_import_module = "reprise_v1")]
extern "C" {
    fn input(ptr: *mut u8, cap: usize) -> usize;
    fn output(ptr: *const u8, len: usize);
    fn effect(name: *const u8, name_len: usize, input: *const u8, input_len: usize, options: *const u8, options_len: usize) -> i32;
    fn wait(handles: *const i32, n: usize, timeout: i64, ready: *mut i32, cap: usize) -> usize;
    fn result(handle: i32, ptr: *mut u8, cap: usize) -> usize;
    fn drop(handle: i32);
}

/// Pulls bytes whose length only the host knows.
fn pull(read: impl Fn(*mut u8, usize) -> usize) -> Vec<u8> {
    let mut bytes = vec![0; read(std::ptr::null_mut(), 0)];
    read(bytes.as_mut_ptr(), bytes.len());
    bytes
}

fn number(bytes: Vec<u8>) -> i64 {
    String::from_utf8(bytes).unwrap().parse().unwrap()
}

/// Asks for one effect and returns the number that it gives.
fn step(i: i64) -> i64 {
    let (name, text) = ("bench.add", i.to_string());
    let mut ready = [0];
    unsafe {
        let handle = effect(name.as_ptr(), name.len(), text.as_ptr(), text.len(), std::ptr::null(), 0);
        wait(&handle, 1, -1, ready.as_mut_ptr(), ready.len());
        let v = number(pull(|ptr, cap| result(handle, ptr, cap)));
        drop(handle);
        v
    }
}

#[no_mangle]
pub extern "C" fn reprise_run() -> i32 {
    let steps = number(pull(|ptr, cap| unsafe { input(ptr, cap) }));
    let sum = (0..steps).map(step).sum::<i64>().to_string();
    unsafe { output(sum.as_ptr(), sum.len()) };
    0
}

/// The least that can be entered.
#[no_mangle]
pub extern "C" fn nop() -> i32 {
    0
}
