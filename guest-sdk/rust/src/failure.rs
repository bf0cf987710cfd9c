use crate::calls;
use crate::json::{FromJson, Mismatch, ToJson, Value};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// What a request, a workflow or an activity comes to.
pub type Result<T> = core::result::Result<T, Failure>;

/// How something failed, on both sides of the host: requests give it, and a workflow or activity that returns one fails with its
/// code. Its JSON is `{"code", "message", "retryable"?, "details"?}`.
///
/// With the feature `std` every [`std::error::Error`] becomes one, with code `error`, so that `?` takes them all. For that
/// reason it is not an `Error` itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// A stable word: the program's own, or one of the contract's.
    pub code: String,
    /// For people.
    pub message: String,
    /// False ends an activity's attempts at once; without it the retry policy decides.
    pub retryable: Option<bool>,
    /// Any JSON.
    pub details: Option<Value>,
}

impl Failure {
    /// Code of what was cancelled: the run, or the request.
    pub const CANCELLED: &'static str = "cancelled";
    /// Code of what took too long.
    pub const TIMEOUT: &'static str = "timeout";
    /// Code of an error without a code of its own.
    pub const ERROR: &'static str = "error";
    /// Code of a panic; its details say where.
    pub const PANIC: &'static str = "panic";
    /// Code of a program that waits for what nothing can settle.
    pub const DEADLOCK: &'static str = "deadlock";
    /// Code of an input that is not what the function takes.
    pub const INVALID_INPUT: &'static str = "invalid_input";
    /// Code of a result that cannot be encoded, or is not what the caller takes.
    pub const INVALID_OUTPUT: &'static str = "invalid_output";

    /// A failure with a code and a message.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { code: code.into(), message: message.into(), retryable: None, details: None }
    }

    /// A failure of code `error`.
    pub fn error(message: impl fmt::Display) -> Failure {
        Failure::new(Failure::ERROR, message.to_string())
    }

    /// The same with details.
    pub fn with_details(mut self, details: impl Into<Value>) -> Failure {
        self.details = Some(details.into());
        self
    }

    /// The same, which no further attempt can mend.
    pub fn not_retryable(mut self) -> Failure {
        self.retryable = Some(false);
        self
    }

    /// Whether the run, or the request, was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.code == Failure::CANCELLED
    }

    /// Whether a request or a [`timeout`](crate::timeout) took too long.
    pub fn is_timeout(&self) -> bool {
        self.code == Failure::TIMEOUT
    }

    pub(crate) fn cancelled() -> Failure {
        Failure::new(Failure::CANCELLED, "the run is cancelled")
    }

    pub(crate) fn invalid(code: &str, what: &str, why: impl fmt::Display) -> Failure {
        Failure::new(code, format!("{} {}", what, why)).not_retryable()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = String::new();
        self.to_json(&mut out);
        out.into_bytes()
    }

    /// Reads the outcome of a handle that did not end well.
    pub(crate) fn from_outcome(status: i32, bytes: Vec<u8>) -> Failure {
        match Value::parse(&bytes).ok().map(Failure::from_json) {
            Some(Ok(failure)) if !failure.code.is_empty() => failure,
            _ => {
                let code = match status {
                    calls::CANCELLED => Failure::CANCELLED,
                    calls::TIMED_OUT => Failure::TIMEOUT,
                    _ => Failure::ERROR,
                };
                Failure::new(code, String::from_utf8_lossy(&bytes))
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl ToJson for Failure {
    fn to_json(&self, out: &mut String) {
        out.push_str("{\"code\":");
        self.code.to_json(out);
        out.push_str(",\"message\":");
        self.message.to_json(out);
        if let Some(retryable) = self.retryable {
            out.push_str(",\"retryable\":");
            retryable.to_json(out);
        }
        if let Some(details) = &self.details {
            out.push_str(",\"details\":");
            details.to_json(out);
        }
        out.push('}');
    }
}

impl FromJson for Failure {
    fn from_json(value: Value) -> core::result::Result<Failure, Mismatch> {
        let mut object = value.into_object()?;
        Ok(Failure {
            code: object.take("code")?,
            message: object.take::<Option<String>>("message")?.unwrap_or_default(),
            retryable: object.take("retryable")?,
            details: object.take("details")?,
        })
    }
}

#[cfg(feature = "std")]
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::error(error)
    }
}
