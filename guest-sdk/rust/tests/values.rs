//! JSON: what is read is what is written.

use reprise::json::{FromJson, ToJson, Value};

fn text(value: &impl ToJson) -> String {
    let mut out = String::new();
    value.to_json(&mut out);
    out
}

#[test]
fn values_are_the_same_after_a_round_trip() {
    for json in [
        "null",
        "true",
        "[false,{}]",
        "9007199254740993",
        "-9223372036854775808",
        "18446744073709551615",
        "123456789012345678901234567890.10",
        "-1.5e-7",
        "0",
        "\"é 😀 日本 \\\"quoted\\\" \\\\ \\n\\u0001\"",
        "{\"b\":1,\"a\":[1,[2,[]]]}",
    ] {
        let value = Value::parse(json.as_bytes()).unwrap_or_else(|e| panic!("{}: {}", json, e));
        assert_eq!(text(&value), json);
    }
}

#[test]
fn what_is_read_loosely_is_written_compactly() {
    for (json, want) in [(" [ 1 , 2 ] ", "[1,2]"), ("{\n\t\"a\" : null }", "{\"a\":null}"), ("\"\\u00e9\\ud83d\\ude00\\/\"", "\"é😀/\"")]
    {
        assert_eq!(text(&Value::parse(json.as_bytes()).unwrap()), want);
    }
}

#[test]
fn what_is_no_json_is_refused() {
    let deep = "[".repeat(10_000);
    for json in [
        "",
        " ",
        "nul",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":1,}",
        "\"",
        "\"\n\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\\u12\"",
        "\"\\u12é\"",
        "1 1",
        "NaN",
        "\u{feff}1",
        &deep,
    ] {
        assert!(Value::parse(json.as_bytes()).is_err(), "{:?} was read", json);
    }
    assert!(Value::parse(b"\"\xff\"").is_err());
}

#[test]
fn floats_are_the_shortest_text() {
    for (n, want) in [
        (0.1, "0.1"),
        (-2.0, "-2"),
        (1e300, "1e300"),
        (5e-324, "5e-324"),
        (123456789.125, "123456789.125"),
        (f64::NAN, "null"),
        (f64::INFINITY, "null"),
    ] {
        assert_eq!(text(&n), want);
    }
}

reprise::record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Order {
        id: String,
        amount: i64,
        kind as "type": Option<String>,
        items: Vec<Item>,
    }
}

reprise::record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Item { sku: u32 }
}

fn order(json: &str) -> Result<Order, String> {
    Order::from_json(Value::parse(json.as_bytes()).unwrap()).map_err(|e| e.to_string())
}

#[test]
fn records_are_objects() {
    let want = Order { id: "A".into(), amount: -1, kind: None, items: vec![Item { sku: 7 }] };
    assert_eq!(order(r#"{"items":[{"sku":7,"more":1}],"amount":-1,"id":"A"}"#), Ok(want.clone()));
    assert_eq!(text(&want), r#"{"id":"A","amount":-1,"type":null,"items":[{"sku":7}]}"#);
}

#[test]
fn a_mismatch_says_where() {
    for (json, want) in [
        ("1", "got a number, want an object"),
        (r#"{"id":"A","items":[]}"#, "amount: got nothing, want a value"),
        (r#"{"id":1,"amount":1,"items":[]}"#, "id: got a number, want a string"),
        (r#"{"id":"A","amount":1.5,"items":[]}"#, "amount: got a number, want an integer of type i64"),
        (r#"{"id":"A","amount":1,"items":[{"sku":1},{"sku":-1}]}"#, "items.1.sku: got a number, want an integer of type u32"),
    ] {
        assert_eq!(order(json), Err(want.into()));
    }
}
