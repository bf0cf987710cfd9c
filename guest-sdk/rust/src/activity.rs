use crate::calls;
use crate::failure::{Failure, Result};
use crate::json::ToJson;
use crate::payload::{outcome, Decode, Encode};
use crate::request::Request;
use alloc::string::String;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

/// How an activity or effect is carried out. Zero is the host's default throughout.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Bounds one attempt; the host's default is 30 s.
    pub timeout: Duration,
    /// Bounds all attempts together.
    pub total_timeout: Duration,
    /// How failures are retried; None leaves that to the host.
    pub retry: Option<Retry>,
    /// The module of an activity: a workflow's name or a digest. Empty: the run's own.
    pub module: &'static str,
}

/// How failures are retried: the wait before attempt n+1 is backoff × factor^(n-1), at most `max_backoff`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retry {
    /// The number of attempts in all; 0 is one.
    pub attempts: u32,
    /// The wait after the first failure; the host's default is 1 s.
    pub backoff: Duration,
    /// The growth of the wait; the host's default is 2.
    pub factor: f64,
    /// Bounds the wait; the host's default is 60 s.
    pub max_backoff: Duration,
    /// Failure codes that end the attempts at once.
    pub non_retryable: &'static [&'static str],
}

impl Options {
    /// The host's defaults, for constants: `Options { timeout: ..., ..Options::DEFAULT }`.
    pub const DEFAULT: Options = Options { timeout: Duration::ZERO, total_timeout: Duration::ZERO, retry: None, module: "" };

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Fields(String::new());
        out.text("module", self.module);
        out.milliseconds("timeout_ms", self.timeout);
        out.milliseconds("total_timeout_ms", self.total_timeout);
        if let Some(retry) = &self.retry {
            out.add("retry", &retry.encode());
        }
        out.bytes()
    }
}

impl Retry {
    /// The host's defaults, for constants.
    pub const DEFAULT: Retry = Retry { attempts: 0, backoff: Duration::ZERO, factor: 0.0, max_backoff: Duration::ZERO, non_retryable: &[] };

    fn encode(&self) -> String {
        let mut out = Fields(String::new());
        if self.attempts > 0 {
            out.add("attempts", &json(&self.attempts));
        }
        out.milliseconds("backoff_ms", self.backoff);
        if self.factor > 0.0 {
            out.add("factor", &json(&self.factor));
        }
        out.milliseconds("max_backoff_ms", self.max_backoff);
        if !self.non_retryable.is_empty() {
            out.add("non_retryable", &json(self.non_retryable));
        }
        out.end()
    }
}

fn json<T: ToJson + ?Sized>(value: &T) -> String {
    let mut out = String::new();
    value.to_json(&mut out);
    out
}

/// An object that is being written.
struct Fields(String);

impl Fields {
    fn add(&mut self, key: &str, json: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        key.to_json(&mut self.0);
        self.0.push(':');
        self.0.push_str(json);
    }

    fn text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.add(key, &json(value));
        }
    }

    /// Part of a millisecond is a whole one: zero would be the default.
    fn milliseconds(&mut self, key: &str, d: Duration) {
        if !d.is_zero() {
            self.add(key, &json(&((d.as_nanos() + 999_999) / 1_000_000)));
        }
    }

    /// The options; no bytes say the same as no fields.
    fn bytes(self) -> Vec<u8> {
        if self.0.is_empty() {
            return Vec::new();
        }
        self.end().into_bytes()
    }

    fn end(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

/// An activity: a function that is run in a fresh instance, at least once, and retried by policy. This is how it is called; in
/// [`module!`](crate::module) it is given its function, when that is in the same module.
///
/// ```
/// # use reprise::{Activity, Options, Retry};
/// const CHARGE: Activity<i64, String> =
///     Activity::new("charge").with(Options { retry: Some(Retry { attempts: 5, ..Retry::DEFAULT }), ..Options::DEFAULT });
///
/// async fn order(amount: i64) -> reprise::Result<String> {
///     CHARGE.call(amount).await
/// }
/// ```
pub struct Activity<I, O> {
    name: &'static str,
    options: Options,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> Clone for Activity<I, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O> Copy for Activity<I, O> {}

impl<I, O> Activity<I, O> {
    /// The activity of a name.
    pub const fn new(name: &'static str) -> Activity<I, O> {
        Activity { name, options: Options::DEFAULT, types: PhantomData }
    }

    /// The same with other options.
    pub const fn with(self, options: Options) -> Activity<I, O> {
        Activity { name: self.name, options, types: PhantomData }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

impl<I: Encode, O: Decode> Activity<I, O> {
    /// Asks for it. The request is made now, whether or not it is awaited at once.
    pub fn call(&self, input: impl Borrow<I>) -> Request<O> {
        ask(input.borrow(), |bytes| calls::activity(self.name, bytes, &self.options.encode()))
    }
}

/// Asks the host for an effect by its name; `http` has words of its own for `http.request`.
pub fn effect<I: Encode, O: Decode>(name: &str, input: impl Borrow<I>, options: &Options) -> Request<O> {
    ask(input.borrow(), |bytes| calls::effect(name, bytes, &options.encode()))
}

fn ask<I: Encode, O: Decode>(input: &I, make: impl FnOnce(&[u8]) -> i32) -> Request<O> {
    match input.encode() {
        Ok(bytes) => Request::new(make(&bytes), outcome),
        Err(failure) => Request::refused(failure, outcome),
    }
}

/// A workflow, as others call it: as a child run of theirs.
pub struct Workflow<I, O> {
    name: &'static str,
    module: &'static str,
    abandon: bool,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> Clone for Workflow<I, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O> Copy for Workflow<I, O> {}

impl<I, O> Workflow<I, O> {
    /// The workflow of a name.
    pub const fn new(name: &'static str) -> Workflow<I, O> {
        Workflow { name, module: "", abandon: false, types: PhantomData }
    }

    /// The same of another module than the run's own: a workflow's name or a digest.
    pub const fn of(self, module: &'static str) -> Workflow<I, O> {
        Workflow { name: self.name, module, abandon: self.abandon, types: PhantomData }
    }

    /// The same, which goes on when its request is dropped or the run that started it ends. Otherwise it is then cancelled.
    pub const fn abandoned(self) -> Workflow<I, O> {
        Workflow { name: self.name, module: self.module, abandon: true, types: PhantomData }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

impl<I: Encode, O: Decode> Workflow<I, O> {
    /// Starts a child run, exactly once: a run of its own, whose outcome is that of its last successor. Only workflows have children.
    pub fn start(&self, input: impl Borrow<I>) -> Request<O> {
        ask(input.borrow(), |bytes| calls::child(self.name, bytes, &self.options()))
    }

    fn options(&self) -> Vec<u8> {
        let mut out = Fields(String::new());
        out.text("module", self.module);
        if self.abandon {
            out.add("abandon", "true");
        }
        out.bytes()
    }
}

/// Ends the run and starts its successor, the same workflow with another input and an empty journal. What comes after it in the
/// program is not executed, and requests that are not done are given up. In an activity it is a failure.
pub async fn continue_as_new<I: Encode, T>(input: impl Borrow<I>) -> Result<T> {
    if calls::entry_kind() != calls::WORKFLOW {
        return Err(Failure::error("only a workflow can continue as new").not_retryable());
    }
    calls::continue_as_new(&input.borrow().encode()?);
    crate::executor::state(|s| s.continued = true);
    Never(PhantomData).await
}

struct Never<T>(PhantomData<fn() -> T>);

impl<T> Future for Never<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_what_the_contract_says() {
        let retry = Retry { attempts: 5, backoff: Duration::from_micros(1), factor: 1.5, non_retryable: &["a"], ..Retry::DEFAULT };
        let all = Options { timeout: Duration::from_secs(1), retry: Some(retry), module: "m", ..Options::DEFAULT };
        for (got, want) in [
            (Options::DEFAULT.encode(), ""),
            (Options { retry: Some(Retry::DEFAULT), ..Options::DEFAULT }.encode(), r#"{"retry":{}}"#),
            (all.encode(), r#"{"module":"m","timeout_ms":1000,"retry":{"attempts":5,"backoff_ms":1,"factor":1.5,"non_retryable":["a"]}}"#),
            (Workflow::<(), ()>::new("w").options(), ""),
            (Workflow::<(), ()>::new("w").of("m").abandoned().options(), r#"{"module":"m","abandon":true}"#),
        ] {
            assert_eq!(core::str::from_utf8(&got).unwrap(), want);
        }
    }
}
