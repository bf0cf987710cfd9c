//! A host in memory, for tests of workflows on the machine that they are written on (`cargo test`). It answers activities and
//! effects with functions of the test, sends signals, and passes over timers: its clock jumps.
//!
//! ```
//! use reprise::{testing::Host, Activity, Result};
//!
//! const DOUBLE: Activity<i64, i64> = Activity::new("double");
//!
//! async fn twice(n: i64) -> Result<i64> {
//!     DOUBLE.call(DOUBLE.call(n).await?).await
//! }
//!
//! let mut host = Host::new();
//! host.activity("double", |n: i64| Ok(2 * n));
//! assert_eq!(host.run(twice, 5), Ok(20));
//! assert_eq!(host.asked(), ["activity double 5", "activity double 10"]);
//! ```

use crate::calls;
use crate::executor::{self, state, Ended};
use crate::failure::{Failure, Result};
use crate::module::Module;
use crate::payload::{input, Decode, Encode};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::time::Duration;

type Answer = Box<dyn FnMut(Vec<u8>) -> Result<Vec<u8>>>;

/// A host in memory. It belongs to the thread that runs the test.
#[derive(Default)]
pub struct Host {
    pub(crate) kind: i32,
    pub(crate) entry: String,
    pub(crate) info: String,
    pub(crate) input: Vec<u8>,
    pub(crate) output: Option<Vec<u8>>,
    pub(crate) failure: Option<Vec<u8>>,
    pub(crate) continued: Option<Vec<u8>>,
    pub(crate) now: i64,
    pub(crate) assets: BTreeMap<String, Vec<u8>>,
    pub(crate) lines: Vec<String>,
    pub(crate) published: BTreeMap<String, Vec<u8>>,
    answers: BTreeMap<String, Answer>,
    signals: BTreeMap<String, VecDeque<Vec<u8>>>,
    asked: Vec<String>,
    handles: BTreeMap<i32, Asked>,
    last: i32,
    randomness: u64,
    cancel: bool,
}

/// What a handle stands for.
enum Asked {
    Request(String, Vec<u8>),
    Timer(i64),
    Signal(String),
    Done(i32, Vec<u8>),
}

impl Host {
    /// A host that answers nothing yet.
    pub fn new() -> Host {
        Host { now: 1_700_000_000_000_000_000, ..Host::default() }
    }

    /// Answers an activity.
    pub fn activity<I: Decode, O: Encode>(&mut self, name: &str, answer: impl FnMut(I) -> Result<O> + 'static) {
        self.answer("activity", name, answer);
    }

    /// Answers an effect.
    pub fn effect<I: Decode, O: Encode>(&mut self, name: &str, answer: impl FnMut(I) -> Result<O> + 'static) {
        self.answer("effect", name, answer);
    }

    /// Answers a child run.
    pub fn child<I: Decode, O: Encode>(&mut self, name: &str, answer: impl FnMut(I) -> Result<O> + 'static) {
        self.answer("child", name, answer);
    }

    fn answer<I: Decode, O: Encode>(&mut self, kind: &str, name: &str, mut answer: impl FnMut(I) -> Result<O> + 'static) {
        let answer = move |bytes| answer(input(bytes)?)?.encode();
        self.answers.insert(format!("{} {}", kind, name), Box::new(answer));
    }

    /// Sends a signal, which stays queued until it is waited for.
    pub fn signal<T: Encode>(&mut self, name: &str, payload: T) {
        let bytes = payload.encode().expect("the payload can be encoded");
        self.signals.entry(name.into()).or_default().push_back(bytes);
    }

    /// Cancels the run when it waits for what nothing else will end, timers included.
    pub fn cancel(&mut self) {
        self.cancel = true;
    }

    /// Gives the module an asset.
    pub fn asset(&mut self, name: &str, bytes: &[u8]) {
        self.assets.insert(name.into(), bytes.into());
    }

    /// Runs a workflow, or an activity, to its end.
    pub fn run<I, O, E: Into<Failure>, F>(&mut self, function: impl FnOnce(I) -> F, input: I) -> Result<O>
    where
        F: Future<Output = core::result::Result<O, E>>,
    {
        match self.lend(|| executor::run(async { function(input).await.map_err(Into::into) })) {
            Ended::Output(output) => output,
            Ended::Continued => Err(Failure::new("continued", "the run has a successor")),
            Ended::Stuck => Err(Failure::new(Failure::DEADLOCK, "the program waits for what nothing can settle any more")),
        }
    }

    /// Runs a workflow of a module by its name, from bytes to bytes.
    pub fn enter(&mut self, module: &Module, workflow: &str, input: &[u8]) -> Result<Vec<u8>> {
        self.enter_as(calls::WORKFLOW, workflow, input, || module.run())
    }

    /// Asks a module a query, from bytes to bytes.
    pub fn ask_query(&mut self, module: &Module, query: &str, input: &[u8]) -> Result<Vec<u8>> {
        const QUERY: i32 = 2; // as the contract numbers it
        self.enter_as(QUERY, query, input, || module.answer())
    }

    fn enter_as(&mut self, kind: i32, name: &str, input: &[u8], enter: impl FnOnce() -> i32) -> Result<Vec<u8>> {
        self.kind = kind;
        self.entry = name.into();
        self.input = input.into();
        self.lend(enter);
        match self.failure.take() {
            Some(failure) => Err(Failure::from_outcome(0, failure)),
            None => Ok(self.output.take().unwrap_or_default()),
        }
    }

    /// Makes this the host of the thread while something is done.
    fn lend<T>(&mut self, what: impl FnOnce() -> T) -> T {
        state(|s| *s = Default::default());
        let before = HOST.with(|h| h.replace(Some(std::mem::take(self))));
        assert!(before.is_none(), "a workflow is run inside another");
        let _back = Back(self);
        what()
    }

    /// What was asked for, in order: `activity NAME INPUT`, `effect NAME INPUT`, `child NAME INPUT`, `timer DURATION`, `signal NAME`.
    pub fn asked(&self) -> &[String] {
        &self.asked
    }

    /// How many handles the program still has.
    pub fn open(&self) -> usize {
        self.handles.len()
    }

    /// The value of a key that was published.
    pub fn published<T: Decode>(&self, key: &str) -> Option<T> {
        self.published.get(key).and_then(|bytes| T::decode(bytes.clone()).ok())
    }

    /// The lines of the log.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The input of the run's successor.
    pub fn continued<T: Decode>(&self) -> Option<T> {
        self.continued.as_ref().and_then(|bytes| T::decode(bytes.clone()).ok())
    }
}

/// What the calls of the contract come to.
impl Host {
    pub(crate) fn ask(&mut self, kind: &str, name: &str, input: &[u8]) -> i32 {
        self.asked.push(format!("{} {} {}", kind, name, String::from_utf8_lossy(input)));
        self.add(Asked::Request(format!("{} {}", kind, name), input.into()))
    }

    pub(crate) fn timer(&mut self, nanoseconds: i64) -> i32 {
        self.asked.push(format!("timer {:?}", Duration::from_nanos(nanoseconds.max(0) as u64)));
        self.add(Asked::Timer(self.now.saturating_add(nanoseconds.max(0))))
    }

    pub(crate) fn await_signal(&mut self, name: &str) -> i32 {
        self.asked.push(format!("signal {}", name));
        self.add(Asked::Signal(name.into()))
    }

    fn add(&mut self, asked: Asked) -> i32 {
        self.last += 1;
        self.handles.insert(self.last, asked);
        self.last
    }

    pub(crate) fn wait(&mut self, handles: &[i32], timeout: i64, ready: &mut [i32]) -> usize {
        let done: Vec<i32> = handles.iter().copied().filter(|h| matches!(self.handles.get(h), Some(Asked::Done(..)))).collect();
        if !done.is_empty() {
            ready[..done.len()].copy_from_slice(&done);
            return done.len();
        }
        match self.next(handles, timeout) {
            Some(handle) => {
                ready[0] = handle;
                1
            }
            None if timeout == 0 => 0,
            None => panic!("nothing that the program waits for can be done: {:?}", self.asked),
        }
    }

    /// Settles one of the handles: what is answered at once before the run's cancellation, and that before timers.
    fn next(&mut self, handles: &[i32], timeout: i64) -> Option<i32> {
        for &handle in handles {
            let outcome = match self.handles.get(&handle) {
                Some(Asked::Request(name, input)) => {
                    let answer = self.answers.get_mut(name).unwrap_or_else(|| panic!("nothing answers {}", name));
                    Some(answer(input.clone()))
                }
                Some(Asked::Signal(name)) => self.signals.get_mut(name).and_then(VecDeque::pop_front).map(Ok),
                _ => None,
            };
            if let Some(outcome) = outcome {
                return Some(self.settle(handle, outcome));
            }
        }
        if timeout == 0 {
            return None;
        }
        if self.cancel && handles.contains(&calls::RUN) {
            return Some(calls::RUN);
        }
        let timer = |h: &i32| match self.handles.get(h) {
            Some(Asked::Timer(due)) => Some((*due, *h)),
            _ => None,
        };
        let (due, handle) = handles.iter().filter_map(timer).min()?;
        self.now = due;
        Some(self.settle(handle, Ok(Vec::new())))
    }

    fn settle(&mut self, handle: i32, outcome: Result<Vec<u8>>) -> i32 {
        const FAILED: i32 = 2;
        let done = match outcome {
            Ok(bytes) => Asked::Done(calls::OK, bytes),
            Err(failure) => Asked::Done(FAILED, failure.to_bytes()),
        };
        self.now += 1_000_000;
        self.handles.insert(handle, done);
        handle
    }

    pub(crate) fn outcome(&self, handle: i32) -> (i32, Vec<u8>) {
        match self.handles.get(&handle) {
            Some(Asked::Done(status, bytes)) => (*status, bytes.clone()),
            _ => panic!("handle {} is not done", handle),
        }
    }

    pub(crate) fn drop(&mut self, handle: i32) {
        assert!(self.handles.remove(&handle).is_some(), "handle {} was never given, or is dropped", handle);
    }

    pub(crate) fn random(&mut self, bytes: &mut [u8]) {
        for b in bytes {
            // Knuth's linear congruential generator, of which the upper bits are good.
            self.randomness = self.randomness.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *b = (self.randomness >> 56) as u8;
        }
    }
}

std::thread_local! {
    static HOST: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// Gives the host back to whom it belongs, after a panic too.
struct Back<'a>(&'a mut Host);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        if let Some(host) = HOST.with(|h| h.take()) {
            *self.0 = host;
        }
    }
}

pub(crate) fn with<T>(f: impl FnOnce(&mut Host) -> T) -> T {
    try_with(f).expect("requests are made inside a workflow: see reprise::testing::Host")
}

/// A request may be dropped after its host.
pub(crate) fn try_with<T>(f: impl FnOnce(&mut Host) -> T) -> Option<T> {
    HOST.with(|h| h.borrow_mut().as_mut().map(f))
}
