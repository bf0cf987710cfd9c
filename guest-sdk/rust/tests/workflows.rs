//! Whole workflows on the host in memory.

use reprise::json::Value;
use reprise::testing::Host;
use reprise::{Activity, Bytes, Either, Failure, Result, Workflow};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const DOUBLE: Activity<i64, i64> = Activity::new("double");
const SECOND: Duration = Duration::from_secs(1);

fn host() -> Host {
    let mut host = Host::new();
    host.activity("double", |n: i64| Ok(2 * n));
    host
}

#[test]
fn requests_are_made_at_once_and_in_order() {
    async fn workflow(_: ()) -> Result<Vec<i64>> {
        let later = reprise::sleep(SECOND);
        let asked = (1..=3).map(|n| DOUBLE.call(n));
        let all = reprise::try_join_all(asked).await?;
        later.await?;
        Ok(all)
    }
    let mut host = host();
    assert_eq!(host.run(workflow, ()), Ok(vec![2, 4, 6]));
    assert_eq!(host.asked(), ["timer 1s", "activity double 1", "activity double 2", "activity double 3"]);
    assert_eq!(host.open(), 0);
}

#[test]
fn the_losers_of_a_race_are_dropped() {
    async fn workflow(_: ()) -> Result<bool> {
        let raced = reprise::race(reprise::signal::<i64>("go"), reprise::sleep(SECOND)).await;
        Ok(raced == Either::Right(Ok(())))
    }
    let mut host = host();
    assert_eq!(host.run(workflow, ()), Ok(true));
    assert_eq!(host.open(), 0);
}

#[test]
fn select_goes_on_in_the_arm_of_the_first() {
    async fn workflow(seconds: u32) -> Result<String> {
        let mut kept = reprise::sleep(10 * SECOND);
        let first = reprise::select! {
            n = reprise::signal::<i64>("go") => format!("signal {}", n?),
            _ = &mut kept => return Ok("kept".to_string()),
            _ = reprise::sleep(seconds * SECOND) => "timer".to_string(),
        };
        kept.await?;
        Ok(first)
    }
    for (seconds, send, want) in [(1, false, "timer"), (20, false, "kept"), (1, true, "signal 7")] {
        let mut host = host();
        if send {
            host.signal("go", 7);
        }
        assert_eq!(host.run(workflow, seconds), Ok(want.to_string()));
        assert_eq!(host.open(), 0);
    }
}

#[test]
fn a_timeout_gives_up_what_takes_longer() {
    async fn workflow(limit: u64) -> Result<()> {
        reprise::timeout(Duration::from_secs(limit), reprise::sleep(5 * SECOND)).await?
    }
    assert_eq!(host().run(workflow, 9), Ok(()));
    assert!(host().run(workflow, 1).unwrap_err().is_timeout());
}

#[test]
fn a_cancelled_run_fails_its_requests_and_can_undo() {
    async fn workflow(_: ()) -> Result<i64> {
        let kept = reprise::sleep(SECOND).shield();
        let asked_before = DOUBLE.call(1);
        let failure = reprise::signal::<()>("never").await.unwrap_err();
        assert!(failure.is_cancelled() && reprise::is_cancelled());
        assert!(asked_before.await.unwrap_err().is_cancelled());
        kept.await?;
        reprise::publish("undone", DOUBLE.call(21).await?)?;
        Err(failure)
    }
    let mut host = host();
    host.cancel();
    assert!(host.run(workflow, ()).unwrap_err().is_cancelled());
    assert_eq!(host.published::<i64>("undone"), Some(42));
    assert_eq!(host.open(), 0);
}

#[test]
fn cancellation_can_be_waited_for() {
    async fn workflow(_: ()) -> Result<&'static str> {
        reprise::cancelled().await;
        Ok("cancelled")
    }
    let mut host = host();
    host.cancel();
    assert_eq!(host.run(workflow, ()), Ok("cancelled"));
}

#[test]
fn failures_come_with_everything() {
    const DECLINE: Activity<String, ()> = Activity::new("decline");
    async fn workflow(_: ()) -> Result<()> {
        DECLINE.call("no money".to_string()).await
    }
    let declined = Failure::new("declined", "no money").not_retryable().with_details(Value::object([("limit", 9.into())]));
    let answer = declined.clone();
    let mut host = host();
    host.activity("decline", move |_: String| Err::<(), _>(answer.clone()));
    assert_eq!(host.run(workflow, ()), Err(declined));
}

#[test]
fn what_fits_no_type_is_a_failure() {
    const WRONG: Activity<i64, Vec<bool>> = Activity::new("double");
    async fn workflow(n: i64) -> Result<Vec<bool>> {
        WRONG.call(n).await
    }
    let failure = host().run(workflow, 1).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.retryable), (Failure::INVALID_OUTPUT, Some(false)));
}

#[test]
fn a_look_does_not_wait() {
    async fn workflow(_: ()) -> Result<[Option<i64>; 2]> {
        let mut go = reprise::signal::<i64>("go");
        let first = go.look().transpose()?;
        let mut again = reprise::signal::<i64>("go");
        Ok([first, again.look().transpose()?])
    }
    let mut host = host();
    host.signal("go", 1);
    assert_eq!(host.run(workflow, ()), Ok([Some(1), None].into()));
}

#[test]
fn what_nothing_settles_is_a_deadlock() {
    async fn workflow(_: ()) -> Result<()> {
        std::future::pending().await
    }
    assert_eq!(host().run(workflow, ()).unwrap_err().code, Failure::DEADLOCK);
}

#[test]
fn futures_are_polled_when_they_are_woken() {
    struct Counted<F>(F, Rc<Cell<u32>>);
    impl<F: std::future::Future + Unpin> std::future::Future for Counted<F> {
        type Output = F::Output;
        fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<F::Output> {
            self.1.set(self.1.get() + 1);
            std::pin::Pin::new(&mut self.0).poll(cx)
        }
    }
    let polls = Rc::new(Cell::new(0));
    let counter = polls.clone();
    let workflow = |_: ()| async move { Counted(reprise::sleep(SECOND), counter).await };
    assert_eq!(host().run(workflow, ()), Ok(()));
    assert_eq!(polls.get(), 2);
}

#[test]
fn a_run_can_have_a_successor() {
    async fn workflow(n: i64) -> Result<String> {
        if n == 0 {
            return Ok("done".into());
        }
        DOUBLE.call(n).await?;
        reprise::continue_as_new(n - 1).await
    }
    let mut host = host();
    assert_eq!(host.run(workflow, 0), Ok("done".into()));
    assert_eq!(host.run(workflow, 2).unwrap_err().code, "continued");
    assert_eq!(host.continued::<i64>(), Some(1));
}

#[test]
fn children_are_requests() {
    const SEQUENTIAL: Workflow<i64, i64> = Workflow::new("sequential");
    async fn workflow(n: i64) -> Result<i64> {
        SEQUENTIAL.start(n).await
    }
    let mut host = host();
    host.child("sequential", |n: i64| Ok(1i64 << n));
    assert_eq!(host.run(workflow, 3), Ok(8));
    assert_eq!(host.asked(), ["child sequential 3"]);
}

#[test]
fn requests_of_http_are_effects() {
    async fn workflow(url: String) -> Result<Value> {
        let request = reprise::http::post(url).header("X-Team", "one").json(vec![1, 2])?;
        request.send().await?.check()?.decode()
    }
    let mut host = host();
    host.effect("http.request", |input: Value| {
        let status = if input.get("url") == Some(&"http://a".into()) { 200 } else { 404 };
        let headers = Value::object([("content-type", "application/json")].map(|(k, v)| (k, v.into())));
        Ok(Value::object([("status", status.into()), ("headers", headers), ("body", "{\"id\":7}".into())]))
    });
    assert_eq!(host.run(workflow, "http://a".to_string()), Ok(Value::object([("id", 7.into())])));
    let headers = r#"{"X-Team":"one","Content-Type":"application/json"}"#;
    let asked = format!(r#"effect http.request {{"method":"POST","url":"http://a","headers":{},"body":"[1,2]"}}"#, headers);
    assert_eq!(host.asked(), [asked]);
    let failure = host.run(workflow, "http://b".to_string()).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.retryable), ("http_status", Some(false)));
}

#[test]
fn every_error_is_a_failure() {
    async fn workflow(text: String) -> Result<i64> {
        Ok(text.parse::<i64>()?)
    }
    let failure = host().run(workflow, "x".to_string()).unwrap_err();
    assert_eq!((failure.code.as_str(), failure.message.as_str()), ("error", "invalid digit found in string"));
}

mod module {
    use super::*;

    async fn echo(bytes: Bytes) -> Result<Bytes> {
        Ok(bytes)
    }

    async fn integer(n: u8) -> Result<u8> {
        Ok(n)
    }

    reprise::module! {
        workflow "integer" => integer;
        workflow "echo" => echo;
        query "size" => |text: String| Ok::<_, Failure>(text.len());
        activity DOUBLE => |n: i64| async move { Ok::<_, Failure>(2 * n) };
    }

    #[test]
    fn entries_are_found_by_name() {
        let module = reprise_module();
        for (name, input, want) in [
            ("echo", "{\"a\" : 1}", Ok("{\"a\" : 1}")),
            ("integer", "255", Ok("255")),
            ("integer", "256", Err("invalid_input")),
            ("integer", "[", Err("invalid_input")),
            ("other", "", Err("unknown_workflow")),
            ("", "", Err("unknown_workflow")),
        ] {
            let got = host().enter(&module, name, input.as_bytes());
            let got = got.map(|b| String::from_utf8(b).unwrap()).map_err(|f| f.code);
            assert_eq!(got.as_deref().map_err(|code| code.as_str()), want, "{}({})", name, input);
        }
    }

    #[test]
    fn queries_are_answered() {
        let module = reprise_module();
        assert_eq!(host().ask_query(&module, "size", b"\"four\""), Ok(b"4".to_vec()));
        assert_eq!(host().ask_query(&module, "size", b"4").unwrap_err().code, Failure::INVALID_INPUT);
        assert_eq!(host().ask_query(&module, "other", b"").unwrap_err().code, "unknown_query");
    }
}

#[test]
fn the_version_is_that_of_the_crate() {
    let line = format!("version = \"{}\"\n", reprise::VERSION);
    assert!(include_str!("../Cargo.toml").contains(&line));
}
