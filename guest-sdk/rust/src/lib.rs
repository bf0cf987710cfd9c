//! Durable workflows in Rust, for the host Reprise.
//!
//! A module is a `cdylib` for `wasm32-wasi` that says with [`module!`] which workflows and activities it offers. After a crash the
//! host runs a workflow again from its beginning and gives it the outcomes that it has already seen, in the same order, until
//! it is where it was. Whatever a workflow waits for is a row in a journal, not a thread: [`sleep`] may take a month.
//!
//! ```
//! use reprise::{record, signal, sleep, Activity, Options, Result, Retry};
//! use std::time::Duration;
//!
//! record! {
//!     pub struct Order { id: String, amount: i64 }
//! }
//!
//! const CHARGE: Activity<Order, String> = Activity::new("charge").with(Options {
//!     retry: Some(Retry { attempts: 5, ..Retry::DEFAULT }),
//!     ..Options::DEFAULT
//! });
//!
//! async fn charge(order: Order) -> Result<String> {
//!     Ok(format!("receipt for {}", order.id))
//! }
//!
//! async fn order(order: Order) -> Result<String> {
//!     let receipt = CHARGE.call(order).await?;
//!     reprise::select! {
//!         approved = signal::<bool>("approve") => approved?,
//!         late = sleep(Duration::from_secs(24 * 3600)) => late.map(|_| false)?,
//!     };
//!     Ok(receipt)
//! }
//!
//! reprise::module! {
//!     workflow "order" => order;
//!     activity CHARGE => charge;
//! }
//! ```
//!
//! # Requests
//!
//! What is asked of the host is a [`Request`], a future that has begun when it is made; to drop it is to give it up. [`join`],
//! [`join_all`], [`race`], [`select!`] and [`timeout`] combine them, and so do the combinators of other crates: futures are
//! polled when they are woken.
//!
//! # Payloads
//!
//! They are JSON: [`json`] has a value and traits, [`record!`] declares structs. Integers are exact. [`Bytes`] are a payload as it
//! is; with the feature `serde`, `Serde<T>` is one that serde writes and reads.
//!
//! # Failures
//!
//! A request that fails gives a [`Failure`]; a workflow or activity that returns one fails with its code. A panic fails the run with
//! code `panic`, its message, and its place in the details.
//!
//! # Without std
//!
//! Without the feature `std` the crate needs `alloc` only. The program then has an allocator and a panic handler of its own, which
//! calls `panicked`; that takes Rust 1.68 or newer.
#![cfg_attr(all(not(feature = "std"), target_arch = "wasm32"), no_std)]
#![warn(missing_docs)]

extern crate alloc;

mod activity;
mod calls;
mod executor;
mod failure;
pub mod http;
mod join;
pub mod json;
mod module;
mod payload;
mod request;
mod run;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

pub use activity::{continue_as_new, effect, Activity, Options, Retry, Workflow};
pub use failure::{Failure, Result};
pub use join::{join, join_all, race, timeout, try_join_all, Either, Join, JoinAll, Race, TryJoinAll};
#[cfg(all(not(feature = "std"), target_arch = "wasm32"))]
pub use module::panicked;
pub use module::{Module, Named};
#[cfg(feature = "serde")]
pub use payload::Serde;
pub use payload::{Bytes, Decode, Encode};
pub use request::{cancelled, is_cancelled, signal, sleep, Cancelled, Request};
pub use run::{asset, info, log, now, publish, random, random_u64, Info, Level};

/// The version of this crate, which modules tell their host.
pub const VERSION: &str = "0.1.0";

/// What the macros need of other crates.
#[doc(hidden)]
pub mod __private {
    pub use alloc::format;
    pub use alloc::string::String;
}
