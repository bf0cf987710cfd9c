//! The calls of the contract with the host, in Rust's words: bytes go in as slices and come out as vectors. In a module they are
//! imports, and only those that a program uses become some; elsewhere `testing` answers them.

#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(target_arch = "wasm32")]
mod wasm;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::*;
#[cfg(target_arch = "wasm32")]
pub(crate) use wasm::*;

/// The kinds of entry, as the contract numbers them.
pub(crate) const WORKFLOW: i32 = 0;
pub(crate) const ACTIVITY: i32 = 1;
pub(crate) const DESCRIBE: i32 = 3;

/// What a handle can be, as the contract numbers it, pending left out.
pub(crate) const OK: i32 = 1;
pub(crate) const CANCELLED: i32 = 3;
pub(crate) const TIMED_OUT: i32 = 4;

/// The handle of the run's own cancellation.
pub(crate) const RUN: i32 = 0;
