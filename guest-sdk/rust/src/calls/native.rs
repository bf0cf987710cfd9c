use crate::testing::with;
use std::vec::Vec;

pub(crate) fn entry_kind() -> i32 {
    with(|h| h.kind)
}

pub(crate) fn entry() -> Vec<u8> {
    with(|h| h.entry.clone().into_bytes())
}

pub(crate) fn info() -> Vec<u8> {
    with(|h| h.info.clone().into_bytes())
}

pub(crate) fn input() -> Vec<u8> {
    with(|h| h.input.clone())
}

pub(crate) fn output(bytes: &[u8]) {
    with(|h| h.output = Some(bytes.to_vec()))
}

pub(crate) fn fail(bytes: &[u8]) {
    with(|h| h.failure = Some(bytes.to_vec()))
}

pub(crate) fn continue_as_new(input: &[u8]) {
    with(|h| h.continued = Some(input.to_vec()))
}

pub(crate) fn effect(name: &str, input: &[u8], _options: &[u8]) -> i32 {
    with(|h| h.ask("effect", name, input))
}

pub(crate) fn activity(name: &str, input: &[u8], _options: &[u8]) -> i32 {
    with(|h| h.ask("activity", name, input))
}

pub(crate) fn child(name: &str, input: &[u8], _options: &[u8]) -> i32 {
    with(|h| h.ask("child", name, input))
}

pub(crate) fn timer(nanoseconds: i64) -> i32 {
    with(|h| h.timer(nanoseconds))
}

pub(crate) fn signal(name: &str) -> i32 {
    with(|h| h.await_signal(name))
}

pub(crate) fn wait(handles: &[i32], timeout: i64, ready: &mut [i32]) -> usize {
    with(|h| h.wait(handles, timeout, ready))
}

pub(crate) fn status(handle: i32) -> i32 {
    with(|h| h.outcome(handle).0)
}

pub(crate) fn result(handle: i32) -> Vec<u8> {
    with(|h| h.outcome(handle).1)
}

pub(crate) fn drop(handle: i32) {
    crate::testing::try_with(|h| h.drop(handle));
}

pub(crate) fn cancel_handle() -> i32 {
    super::RUN
}

pub(crate) fn now() -> i64 {
    with(|h| h.now)
}

pub(crate) fn random(bytes: &mut [u8]) {
    with(|h| h.random(bytes))
}

pub(crate) fn asset(name: &str) -> Option<Vec<u8>> {
    with(|h| h.assets.get(name).cloned())
}

pub(crate) fn log(_level: i32, line: &str) {
    with(|h| h.lines.push(line.into()))
}

pub(crate) fn publish(key: &str, bytes: &[u8]) {
    with(|h| h.published.insert(key.into(), bytes.to_vec()));
}
