use crate::activity::{Activity, Workflow};
use crate::calls;
use crate::executor::{self, Ended};
use crate::failure::{Failure, Result};
use crate::json::{ToJson, Value};
use crate::payload::{input, Decode, Encode};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;

type Handler = Box<dyn Fn(Vec<u8>) -> Pin<Box<dyn Future<Output = Result<Vec<u8>>>>>>;

/// A query's function: it waits for nothing.
type Answer = Box<dyn Fn(Vec<u8>) -> Result<Vec<u8>>>;

/// What a module offers, by name. [`module!`](crate::module) makes one.
#[derive(Default)]
pub struct Module {
    workflows: BTreeMap<&'static str, Handler>,
    activities: BTreeMap<&'static str, Handler>,
    queries: BTreeMap<&'static str, Answer>,
}

/// What a workflow or an activity is registered as: a name, or the constant by which it is called, whose types must then be
/// those of the function.
pub trait Named<I, O> {
    /// The name.
    fn name(&self) -> &'static str;
}

impl<I, O> Named<I, O> for &'static str {
    fn name(&self) -> &'static str {
        self
    }
}

impl<I, O> Named<I, O> for Activity<I, O> {
    fn name(&self) -> &'static str {
        Activity::name(self)
    }
}

impl<I, O> Named<I, O> for Workflow<I, O> {
    fn name(&self) -> &'static str {
        Workflow::name(self)
    }
}

impl Module {
    /// A module that offers nothing yet.
    pub fn new() -> Module {
        Module::default()
    }

    /// Adds a workflow. Panics when there is one of that name.
    pub fn workflow<I, O, E, F>(&mut self, name: impl Named<I, O>, function: impl Fn(I) -> F + 'static)
    where
        I: Decode + 'static,
        O: Encode,
        E: Into<Failure>,
        F: Future<Output = core::result::Result<O, E>> + 'static,
    {
        add(&mut self.workflows, "workflow", name.name(), handler(function));
    }

    /// Adds an activity. Panics when there is one of that name.
    pub fn activity<I, O, E, F>(&mut self, name: impl Named<I, O>, function: impl Fn(I) -> F + 'static)
    where
        I: Decode + 'static,
        O: Encode,
        E: Into<Failure>,
        F: Future<Output = core::result::Result<O, E>> + 'static,
    {
        add(&mut self.activities, "activity", name.name(), handler(function));
    }

    /// Adds a query, which is answered by a copy of a run that waits: its function finds what the workflow left in statics, and may
    /// ask for nothing. Panics when there is one of that name.
    pub fn query<I, O, E>(&mut self, name: &'static str, function: impl Fn(I) -> core::result::Result<O, E> + 'static)
    where
        I: Decode,
        O: Encode,
        E: Into<Failure>,
    {
        let answer = move |bytes| function(input(bytes)?).map_err(Into::into)?.encode();
        add(&mut self.queries, "query", name, Box::new(answer) as Answer);
    }

    /// Answers a query, and returns what the contract wants of the entry.
    pub fn answer(&self) -> i32 {
        report_panics();
        let answer = find(&self.queries, "query").and_then(|answer| answer(calls::input()));
        match answer {
            Ok(output) => calls::output(&output),
            Err(failure) => return failed(&failure),
        }
        0
    }

    /// Does what this instance was made for, and returns what the contract wants of the entry.
    pub fn run(&self) -> i32 {
        report_panics();
        let handler = match calls::entry_kind() {
            calls::DESCRIBE => {
                calls::output(self.manifest().as_bytes());
                return 0;
            }
            calls::WORKFLOW => find(&self.workflows, "workflow"),
            calls::ACTIVITY => find(&self.activities, "activity"),
            kind => Err(Failure::error(format!("this SDK knows no entry of kind {}", kind)).not_retryable()),
        };
        let ended = match handler {
            Ok(handler) => executor::run(handler(calls::input())),
            Err(failure) => Ended::Output(Err(failure)),
        };
        match ended {
            Ended::Output(Ok(output)) => calls::output(&output),
            Ended::Output(Err(failure)) => return failed(&failure),
            Ended::Stuck => return failed(&Failure::new(Failure::DEADLOCK, "the program waits for what nothing can settle any more")),
            Ended::Continued => {}
        }
        0
    }

    fn manifest(&self) -> String {
        let sdk: Value = format!("rust/{}", crate::VERSION).into();
        let manifest = [("sdk", sdk), ("workflows", names(&self.workflows)), ("activities", names(&self.activities))];
        let mut out = String::new();
        Value::object(manifest).to_json(&mut out);
        out
    }
}

/// Has panics end the entry with what they say.
fn report_panics() {
    #[cfg(all(feature = "std", target_arch = "wasm32"))]
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(text), _) => String::from(*text),
            (_, Some(text)) => text.clone(),
            _ => String::from("a panic without a text"),
        };
        report(text, panic.location())
    }));
}

fn failed(failure: &Failure) -> i32 {
    calls::fail(&failure.to_bytes());
    1
}

fn names<T>(of: &BTreeMap<&'static str, T>) -> Value {
    of.keys().copied().collect::<Vec<_>>().into()
}

fn add<T>(to: &mut BTreeMap<&'static str, T>, what: &str, name: &'static str, handler: T) {
    assert!(!name.is_empty() && name.len() <= 255, "the name of the {} {:?} has not 1 to 255 bytes", what, name);
    assert!(to.insert(name, handler).is_none(), "two functions are registered as {} {:?}", what, name);
}

fn handler<I, O, E, F>(function: impl Fn(I) -> F + 'static) -> Handler
where
    I: Decode + 'static,
    O: Encode,
    E: Into<Failure>,
    F: Future<Output = core::result::Result<O, E>> + 'static,
{
    Box::new(move |bytes| match input(bytes) {
        Ok(input) => {
            let future = function(input);
            Box::pin(async move { future.await.map_err(Into::into)?.encode() })
        }
        Err(failure) => Box::pin(core::future::ready(Err(failure))),
    })
}

/// Finds the function of this entry; no name is the only workflow.
fn find<'a, T>(of: &'a BTreeMap<&'static str, T>, what: &str) -> Result<&'a T> {
    let name = String::from_utf8(calls::entry()).unwrap_or_default();
    let found = match of.values().next() {
        Some(only) if name.is_empty() && of.len() == 1 => Some(only),
        _ => of.get(name.as_str()),
    };
    found.ok_or_else(|| {
        let names = of.keys().copied().collect::<Vec<_>>().join(", ");
        Failure::new(format!("unknown_{}", what), format!("this module has no {} {:?}; it has {}", what, name, names)).not_retryable()
    })
}

/// Ends the entry with code `panic`, the panic's message, and where it was: for the `#[panic_handler]` of a program without the
/// feature `std`.
#[cfg(all(not(feature = "std"), target_arch = "wasm32"))]
pub fn panicked(panic: &core::panic::PanicInfo<'_>) -> ! {
    report(format!("{}", panic), panic.location())
}

#[cfg(target_arch = "wasm32")]
fn report(text: String, at: Option<&core::panic::Location<'_>>) -> ! {
    let mut failure = Failure::new(Failure::PANIC, text);
    if let Some(at) = at {
        failure = failure.with_details(Value::object([
            ("file", Value::from(at.file())),
            ("line", at.line().into()),
            ("column", at.column().into()),
        ]));
    }
    failed(&failure);
    calls::exit()
}

/// Says what a module offers, and makes its entries. A name is text, or the constant by which the workflow or activity is called.
/// Functions are `async`, take one value, and return a `Result` of another. Those of queries are not `async`: a query is
/// answered by a copy of a run that waits, finds what the workflow left in statics, and may ask for nothing.
///
/// ```
/// use reprise::{Activity, Result};
/// use std::sync::Mutex;
///
/// const CHARGE: Activity<i64, String> = Activity::new("charge");
///
/// async fn charge(amount: i64) -> Result<String> {
///     Ok(format!("receipt for {}", amount))
/// }
///
/// static CHARGED: Mutex<i64> = Mutex::new(0);
///
/// async fn order(amount: i64) -> Result<String> {
///     let receipt = CHARGE.call(amount).await?;
///     *CHARGED.lock().unwrap() += amount;
///     Ok(receipt)
/// }
///
/// fn charged(_: ()) -> Result<i64> {
///     Ok(*CHARGED.lock().unwrap())
/// }
///
/// reprise::module! {
///     workflow "order" => order;
///     query "charged" => charged;
///     activity CHARGE => charge;
/// }
/// ```
#[macro_export]
macro_rules! module {
    ($($kind:ident $name:expr => $function:expr;)+) => {
        /// What the module offers.
        pub fn reprise_module() -> $crate::Module {
            let mut module = $crate::Module::new();
            $(module.$kind($name, $function);)+
            module
        }

        /// The entry that the host calls.
        #[no_mangle]
        pub extern "C" fn reprise_run() -> i32 {
            reprise_module().run()
        }

        /// The entry that the host calls in a copy of a run, for a query.
        #[no_mangle]
        pub extern "C" fn reprise_query() -> i32 {
            reprise_module().answer()
        }
    };
}
