use crate::activities::*;
use reprise::json::Value;
use reprise::{record, Failure, Result, Workflow};
use std::time::Duration;

pub const SEQUENTIAL: Workflow<i64, i64> = Workflow::new("sequential");

pub async fn sequential(n: i64) -> Result<i64> {
    let mut v = 1;
    for _ in 0..n {
        v = DOUBLE.call(v).await?;
    }
    Ok(v)
}

pub async fn parallel(_: ()) -> Result<Vec<i64>> {
    reprise::try_join_all((1..=3).map(|n| DOUBLE.call(n))).await
}

pub async fn race(_: ()) -> Result<&'static str> {
    reprise::select! {
        hung = HANG.call(()) => hung.map(|_| "hang"),
        slept = reprise::sleep(Duration::from_millis(20)) => slept.map(|_| "timer"),
    }
}

record! {
    pub struct Caught { code: String, message: String, details: Option<Value> }
}

pub async fn caught(_: ()) -> Result<Caught> {
    match DECLINE.call("no money".to_string()).await {
        Err(Failure { code, message, details, .. }) => Ok(Caught { code, message, details }),
        Ok(()) => Err(Failure::error("got an outcome, want a failure")),
    }
}

pub async fn flaky(_: ()) -> Result<u32> {
    FLAKY.call(()).await
}

pub async fn timer(_: ()) -> Result<bool> {
    const WAIT: Duration = Duration::from_millis(30);
    let began = reprise::now();
    reprise::sleep(WAIT).await?;
    Ok(reprise::now() - began >= WAIT)
}

pub async fn signal(_: ()) -> Result<Vec<Value>> {
    reprise::publish("stage", "waiting")?;
    Ok(vec![reprise::signal("go").await?, reprise::signal("go").await?])
}

record! {
    pub struct Child { child: i64 }
}

pub async fn child(n: i64) -> Result<Child> {
    Ok(Child { child: SEQUENTIAL.start(n).await? })
}

pub async fn again(n: i64) -> Result<&'static str> {
    if n == 0 {
        return Ok("done");
    }
    DOUBLE.call(n).await?;
    reprise::continue_as_new(n - 1).await
}

pub async fn cleanup(_: ()) -> Result<()> {
    let ended = reprise::signal::<()>("never").await;
    if matches!(&ended, Err(failure) if failure.is_cancelled()) {
        reprise::publish("undone", DOUBLE.call(21).await?)?;
    }
    ended
}

record! {
    pub struct Length { length: usize }
}

pub async fn large(_: ()) -> Result<Length> {
    let text = REPEAT.call(1 << 20).await?;
    Ok(Length { length: LENGTH.call(text).await? })
}

record! {
    pub struct Numbers { big: i64, nan: String }
}

pub async fn numbers(_: ()) -> Result<Numbers> {
    let big = ECHO_INTEGER.call((1 << 53) + 1).await?;
    let zero = opaque(0.0f64);
    Ok(Numbers { big, nan: format!("{:016x}", (zero / zero).to_bits()) })
}

pub async fn unicode(_: ()) -> Result<String> {
    ECHO_TEXT.call("é 😀 日本 \"quoted\" \\ \n".to_string()).await
}

/// Gives back what it is given, unseen by the compiler.
fn opaque<T: Copy>(value: T) -> T {
    unsafe { std::ptr::read_volatile(&value) }
}

/// What it adds after the call, and does not know before, keeps the compiler from making a loop of it.
#[inline(never)]
fn sum(n: i64) -> i64 {
    if n == 0 {
        return 0;
    }
    n + opaque(sum(n - 1))
}

pub async fn deep(n: i64) -> Result<i64> {
    Ok(sum(n))
}

pub async fn overflow(_: ()) -> Result<i64> {
    Ok(sum(-1))
}

pub async fn hungry(_: ()) -> Result<()> {
    let mut all = Vec::new();
    loop {
        all.push(vec![1u8; 1 << 20]);
        opaque(all[all.len() - 1][0]);
    }
}

pub async fn panics(_: ()) -> Result<()> {
    reprise::sleep(Duration::from_millis(1)).await?;
    panic!("boom");
}
