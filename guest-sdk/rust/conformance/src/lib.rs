//! The module conformance-rust.wasm: the programs of guest-sdk/conformance, in Rust.

mod activities;
mod workflows;

use activities::*;
use workflows::*;

reprise::module! {
    workflow SEQUENTIAL => sequential;
    workflow "parallel" => parallel;
    workflow "race" => race;
    workflow "caught" => caught;
    workflow "flaky" => flaky;
    workflow "timer" => timer;
    workflow "signal" => signal;
    workflow "child" => child;
    workflow "again" => again;
    workflow "cleanup" => cleanup;
    workflow "large" => large;
    workflow "numbers" => numbers;
    workflow "unicode" => unicode;
    workflow "deep" => deep;
    workflow "overflow" => overflow;
    workflow "hungry" => hungry;
    workflow "panics" => panics;
    activity DOUBLE => double;
    activity "echo" => echo;
    activity REPEAT => repeat;
    activity LENGTH => length;
    activity HANG => hang;
    activity DECLINE => decline;
    activity FLAKY => fail_twice;
}
