use alloc::vec;
use alloc::vec::Vec;

mod import {
    #[link(wasm_import_module = "reprise_v1")]
    extern "C" {
        pub fn entry_kind() -> i32;
        pub fn entry(ptr: *mut u8, cap: usize) -> i32;
        pub fn info(ptr: *mut u8, cap: usize) -> i32;
        pub fn input(ptr: *mut u8, cap: usize) -> i32;
        pub fn output(ptr: *const u8, len: usize);
        pub fn fail(ptr: *const u8, len: usize);
        pub fn continue_as_new(ptr: *const u8, len: usize);
        pub fn effect(name: *const u8, name_len: usize, input: *const u8, input_len: usize, options: *const u8, options_len: usize) -> i32;
        pub fn activity(
            name: *const u8,
            name_len: usize,
            input: *const u8,
            input_len: usize,
            options: *const u8,
            options_len: usize,
        ) -> i32;
        pub fn child(name: *const u8, name_len: usize, input: *const u8, input_len: usize, options: *const u8, options_len: usize) -> i32;
        pub fn timer(nanoseconds: i64) -> i32;
        pub fn signal(name: *const u8, name_len: usize) -> i32;
        pub fn wait(handles: *const i32, n: usize, timeout: i64, ready: *mut i32, cap: usize) -> i32;
        pub fn status(handle: i32) -> i32;
        pub fn result(handle: i32, ptr: *mut u8, cap: usize) -> i32;
        pub fn drop(handle: i32);
        pub fn cancel_handle() -> i32;
        pub fn now() -> i64;
        pub fn random(ptr: *mut u8, len: usize);
        pub fn asset(name: *const u8, name_len: usize, ptr: *mut u8, cap: usize) -> i32;
        pub fn log(level: i32, ptr: *const u8, len: usize);
        pub fn publish(key: *const u8, key_len: usize, ptr: *const u8, len: usize);
    }

    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    extern "C" {
        pub fn proc_exit(status: i32) -> !;
    }
}

/// Pulls bytes whose length only the host knows; None when there are none to pull.
fn pull(read: impl Fn(*mut u8, usize) -> i32) -> Option<Vec<u8>> {
    let len = read(core::ptr::null_mut(), 0);
    if len < 0 {
        return None;
    }
    let mut bytes = vec![0; len as usize];
    if len > 0 {
        read(bytes.as_mut_ptr(), bytes.len());
    }
    Some(bytes)
}

// Safety, for all of this file: the host reads and writes what it is given during the call only, and each pointer goes with its
// length.

pub(crate) fn entry_kind() -> i32 {
    unsafe { import::entry_kind() }
}

pub(crate) fn entry() -> Vec<u8> {
    pull(|ptr, cap| unsafe { import::entry(ptr, cap) }).unwrap_or_default()
}

pub(crate) fn info() -> Vec<u8> {
    pull(|ptr, cap| unsafe { import::info(ptr, cap) }).unwrap_or_default()
}

pub(crate) fn input() -> Vec<u8> {
    pull(|ptr, cap| unsafe { import::input(ptr, cap) }).unwrap_or_default()
}

pub(crate) fn output(bytes: &[u8]) {
    unsafe { import::output(bytes.as_ptr(), bytes.len()) }
}

pub(crate) fn fail(bytes: &[u8]) {
    unsafe { import::fail(bytes.as_ptr(), bytes.len()) }
}

pub(crate) fn continue_as_new(input: &[u8]) {
    unsafe { import::continue_as_new(input.as_ptr(), input.len()) }
}

pub(crate) fn effect(name: &str, input: &[u8], options: &[u8]) -> i32 {
    unsafe { import::effect(name.as_ptr(), name.len(), input.as_ptr(), input.len(), options.as_ptr(), options.len()) }
}

pub(crate) fn activity(name: &str, input: &[u8], options: &[u8]) -> i32 {
    unsafe { import::activity(name.as_ptr(), name.len(), input.as_ptr(), input.len(), options.as_ptr(), options.len()) }
}

pub(crate) fn child(name: &str, input: &[u8], options: &[u8]) -> i32 {
    unsafe { import::child(name.as_ptr(), name.len(), input.as_ptr(), input.len(), options.as_ptr(), options.len()) }
}

pub(crate) fn timer(nanoseconds: i64) -> i32 {
    unsafe { import::timer(nanoseconds) }
}

pub(crate) fn signal(name: &str) -> i32 {
    unsafe { import::signal(name.as_ptr(), name.len()) }
}

pub(crate) fn wait(handles: &[i32], timeout: i64, ready: &mut [i32]) -> usize {
    unsafe { import::wait(handles.as_ptr(), handles.len(), timeout, ready.as_mut_ptr(), ready.len()) as usize }
}

pub(crate) fn status(handle: i32) -> i32 {
    unsafe { import::status(handle) }
}

pub(crate) fn result(handle: i32) -> Vec<u8> {
    pull(|ptr, cap| unsafe { import::result(handle, ptr, cap) }).unwrap_or_default()
}

pub(crate) fn drop(handle: i32) {
    unsafe { import::drop(handle) }
}

pub(crate) fn cancel_handle() -> i32 {
    unsafe { import::cancel_handle() }
}

pub(crate) fn now() -> i64 {
    unsafe { import::now() }
}

pub(crate) fn random(bytes: &mut [u8]) {
    unsafe { import::random(bytes.as_mut_ptr(), bytes.len()) }
}

pub(crate) fn asset(name: &str) -> Option<Vec<u8>> {
    pull(|ptr, cap| unsafe { import::asset(name.as_ptr(), name.len(), ptr, cap) })
}

pub(crate) fn log(level: i32, line: &str) {
    unsafe { import::log(level, line.as_ptr(), line.len()) }
}

pub(crate) fn publish(key: &str, bytes: &[u8]) {
    unsafe { import::publish(key.as_ptr(), key.len(), bytes.as_ptr(), bytes.len()) }
}

/// Ends the entry. What `fail` said before is how the run ends; a trap would say less.
pub(crate) fn exit() -> ! {
    unsafe { import::proc_exit(1) }
}
