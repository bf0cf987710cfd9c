use reprise::json::Value;
use reprise::{Activity, Bytes, Failure, Options, Result, Retry};
use std::time::Duration;

/// The policy of what fails on purpose.
const IMPATIENT: Options =
    Options { retry: Some(Retry { attempts: 5, backoff: Duration::from_millis(1), ..Retry::DEFAULT }), ..Options::DEFAULT };

const HOUR: Duration = Duration::from_secs(3600);

pub const DOUBLE: Activity<i64, i64> = Activity::new("double");
pub const ECHO_INTEGER: Activity<i64, i64> = Activity::new("echo");
pub const ECHO_TEXT: Activity<String, String> = Activity::new("echo");
pub const REPEAT: Activity<usize, String> = Activity::new("repeat");
pub const LENGTH: Activity<String, usize> = Activity::new("length");
pub const HANG: Activity<(), ()> = Activity::new("hang").with(Options { timeout: Duration::from_secs(2 * 3600), ..Options::DEFAULT });
pub const DECLINE: Activity<String, ()> = Activity::new("decline").with(IMPATIENT);
pub const FLAKY: Activity<(), u32> = Activity::new("flaky").with(IMPATIENT);

pub async fn double(n: i64) -> Result<i64> {
    Ok(2 * n)
}

pub async fn echo(payload: Bytes) -> Result<Bytes> {
    Ok(payload)
}

pub async fn repeat(n: usize) -> Result<String> {
    Ok("x".repeat(n))
}

pub async fn length(text: String) -> Result<usize> {
    Ok(text.len())
}

pub async fn hang(_: ()) -> Result<()> {
    reprise::sleep(HOUR).await
}

pub async fn decline(why: String) -> Result<()> {
    Err(Failure::new("declined", why).not_retryable().with_details(Value::object([("limit", 9.into())])))
}

pub async fn fail_twice(_: ()) -> Result<u32> {
    match reprise::info().attempt {
        attempt @ 0..=2 => Err(Failure::new("failed", format!("attempt {}", attempt))),
        attempt => Ok(attempt),
    }
}
