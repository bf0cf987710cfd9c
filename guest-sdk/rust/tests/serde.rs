#![cfg(feature = "serde")]
//! Payloads that serde writes and reads.

use reprise::testing::Host;
use reprise::{Activity, Result, Serde};
use std::collections::HashMap;

const ECHO: Activity<Serde<HashMap<String, u64>>, Serde<HashMap<String, u64>>> = Activity::new("echo");

#[test]
fn types_of_serde_are_payloads() {
    async fn workflow(n: u64) -> Result<Option<u64>> {
        let Serde(back) = ECHO.call(Serde(HashMap::from([("n".to_string(), n)]))).await?;
        Ok(back.get("n").copied())
    }
    let mut host = Host::new();
    host.activity("echo", |bytes: reprise::Bytes| Ok(bytes));
    assert_eq!(host.run(workflow, u64::MAX), Ok(Some(u64::MAX)));
    assert_eq!(host.asked(), ["activity echo {\"n\":18446744073709551615}"]);
}
