use crate::calls;
use crate::failure::Result;
use crate::json::Value;
use crate::payload::Encode;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// Which run a program belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The run's id.
    pub run: String,
    /// Whose run it is.
    pub tenant: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The key that the run was started with, or nothing.
    pub key: String,
    /// The module's digest.
    pub module: String,
    /// Which attempt of an activity this is, from 1; 0 in a workflow.
    pub attempt: u32,
}

/// What the host says of the run.
pub fn info() -> Info {
    let value = Value::parse(&calls::info()).unwrap_or(Value::Null);
    let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default().into();
    Info {
        run: text("run"),
        tenant: text("tenant"),
        workflow: text("workflow"),
        key: text("key"),
        module: text("module"),
        attempt: value.get("attempt").and_then(Value::as_i64).and_then(|n| n.try_into().ok()).unwrap_or_default(),
    }
}

/// The run's time since 1970: that of the last outcome that it saw. It moves only where the program waits.
pub fn now() -> Duration {
    Duration::from_nanos(calls::now().max(0) as u64)
}

/// Fills a slice from a generator that gives a run the same bytes in every replay. Not for secrets.
pub fn random(bytes: &mut [u8]) {
    const MAX_CALL: usize = 64 << 10; // bytes a call, the contract's limit
    bytes.chunks_mut(MAX_CALL).for_each(calls::random);
}

/// Sixty-four bits of [`random`].
pub fn random_u64() -> u64 {
    let mut bytes = [0; 8];
    random(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Sets a value that readers of the run see. The last value of a key wins.
pub fn publish<T: Encode>(key: &str, value: T) -> Result<()> {
    calls::publish(key, &value.encode()?);
    Ok(())
}

/// The module's custom section `reprise.asset.NAME`, when there is one.
pub fn asset(name: &str) -> Option<Vec<u8>> {
    if name.is_empty() {
        return None;
    }
    calls::asset(name)
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For whoever looks for a fault.
    Debug,
    /// For whoever follows the run.
    Info,
    /// Something is odd.
    Warn,
    /// Something failed.
    Error,
}

/// Writes a line into the run's log; silent in replay. [`info!`](crate::info!) and its like take a format.
pub fn log(level: Level, line: &str) {
    calls::log(level as i32, line);
}

/// Writes a formatted line of level debug into the run's log.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)+) => { $crate::log($crate::Level::Debug, &$crate::__private::format!($($arg)+)) };
}

/// Writes a formatted line of level info into the run's log.
#[macro_export]
macro_rules! info {
    ($($arg:tt)+) => { $crate::log($crate::Level::Info, &$crate::__private::format!($($arg)+)) };
}

/// Writes a formatted line of level warn into the run's log.
#[macro_export]
macro_rules! warning {
    ($($arg:tt)+) => { $crate::log($crate::Level::Warn, &$crate::__private::format!($($arg)+)) };
}

/// Writes a formatted line of level error into the run's log.
#[macro_export]
macro_rules! error {
    ($($arg:tt)+) => { $crate::log($crate::Level::Error, &$crate::__private::format!($($arg)+)) };
}
