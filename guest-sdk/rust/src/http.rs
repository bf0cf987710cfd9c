//! HTTP requests, which the host makes, to addresses that were granted. It adds an `Idempotency-Key` header, the same in every
//! attempt of a request.

use crate::activity::{effect, Options};
use crate::failure::{Failure, Result};
use crate::json::{FromJson, Mismatch, ToJson, Value};
use crate::payload::{Decode, Encode};
use crate::request::Request as Asked;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A request that is being put together.
#[derive(Clone, Debug)]
#[must_use = "it is made by send"]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, Value)>,
    body: Option<Vec<u8>>,
    options: Options,
}

/// A GET request.
pub fn get(url: impl Into<String>) -> Request {
    request("GET", url)
}

/// A POST request.
pub fn post(url: impl Into<String>) -> Request {
    request("POST", url)
}

/// A request of any method.
pub fn request(method: impl Into<String>, url: impl Into<String>) -> Request {
    Request { method: method.into(), url: url.into(), headers: Vec::new(), body: None, options: Options::DEFAULT }
}

impl Request {
    /// Sets a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Request {
        self.headers.push((name.into(), Value::String(value.into())));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = Some(body.into());
        self
    }

    /// Sets the body to JSON, and the content type to `application/json`.
    pub fn json<T: Encode>(self, value: T) -> Result<Request> {
        Ok(self.header("Content-Type", "application/json").body(value.encode()?))
    }

    /// Sets the time limits and the policy by which attempts are retried that got no response, or status 429, 502, 503 or 504.
    pub fn options(mut self, options: Options) -> Request {
        self.options = options;
        self
    }

    /// Makes the request. It fails when the last attempt got no response or (code `http_status`) one of those statuses; any other
    /// status is a response.
    pub fn send(self) -> Asked<Response> {
        let mut wire = alloc::vec![("method".to_string(), Value::String(self.method)), ("url".to_string(), Value::String(self.url))];
        if !self.headers.is_empty() {
            wire.push(("headers".into(), Value::Object(self.headers)));
        }
        match self.body.map(String::from_utf8) {
            Some(Ok(text)) => wire.push(("body".into(), Value::String(text))),
            Some(Err(bytes)) => wire.push(("body_base64".into(), Value::String(to_base64(bytes.as_bytes())))),
            None => {}
        }
        effect("http.request", Value::Object(wire), &self.options)
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Gives the response when its status is below 400, and otherwise a failure of code `http_status` with `status` and the first
    /// 4 KiB of `body` in its details. It is worth a retry for 408 and 5xx only.
    pub fn check(self) -> Result<Response> {
        const MAX_BODY: usize = 4 << 10;
        if self.status < 400 {
            return Ok(self);
        }
        let body = String::from_utf8_lossy(&self.body[..self.body.len().min(MAX_BODY)]);
        let failure = Failure::new("http_status", format!("the server answered with status {}", self.status))
            .with_details(Value::object([("status", self.status.into()), ("body", Value::from(&*body))]));
        Err(if self.status < 500 && self.status != 408 { failure.not_retryable() } else { failure })
    }

    /// Reads a JSON body.
    pub fn decode<T: Decode>(self) -> Result<T> {
        T::decode(self.body).map_err(|why| Failure::error(format!("the body of the response: {}", why)))
    }
}

impl FromJson for Response {
    fn from_json(value: Value) -> core::result::Result<Response, Mismatch> {
        let mut object = value.into_object()?;
        let headers: Option<alloc::collections::BTreeMap<String, String>> = object.take("headers")?;
        let body = match object.take::<Option<String>>("body_base64")? {
            Some(text) => from_base64(&text).ok_or_else(|| Mismatch::new("base64", &Value::String(text)).inside("body_base64"))?,
            None => object.take::<Option<String>>("body")?.unwrap_or_default().into_bytes(),
        };
        Ok(Response { status: object.take("status")?, headers: headers.unwrap_or_default().into_iter().collect(), body })
    }
}

impl ToJson for Response {
    /// Writes the same form, so that an activity may return a response.
    fn to_json(&self, out: &mut String) {
        let headers = Value::object(self.headers.iter().map(|(k, v)| (k.clone(), Value::from(v.as_str()))));
        let body = match core::str::from_utf8(&self.body) {
            Ok(text) => ("body", Value::from(text)),
            Err(_) => ("body_base64", Value::String(to_base64(&self.body))),
        };
        Value::object([("status", self.status.into()), ("headers", headers), body]).to_json(out);
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity((bytes.len() + 2) / 3 * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().enumerate().fold(0u32, |n, (i, &b)| n | u32::from(b) << (16 - 8 * i));
        for i in 0..4 {
            let digit = ALPHABET[(group >> (18 - 6 * i) & 63) as usize] as char;
            out.push(if i > chunk.len() { '=' } else { digit });
        }
    }
    out
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for chunk in digits.chunks(4) {
        let group = chunk.iter().enumerate().try_fold(0u32, |n, (i, b)| {
            let digit = ALPHABET.iter().position(|a| a == b)? as u32;
            Some(n | digit << (18 - 6 * i))
        })?;
        out.extend_from_slice(&group.to_be_bytes()[1..chunk.len().max(2)]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64() {
        for (bytes, text) in [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (&[0xff, 0xfe, 0xfd, 0xfc], "//79/A==")] {
            assert_eq!(to_base64(bytes), text);
            assert_eq!(from_base64(text).as_deref(), Some(bytes));
        }
        assert_eq!(from_base64("Z*=="), None);
    }

    #[test]
    fn responses_are_the_same_after_a_round_trip() {
        for body in [b"{\"a\":1}".to_vec(), vec![0xff, 0]] {
            let response = Response { status: 404, headers: vec![("a".into(), "b".into())], body };
            assert_eq!(Response::decode_bytes(response.encode().unwrap()), response);
            let failure = response.check().unwrap_err();
            assert_eq!((failure.code.as_str(), failure.retryable), ("http_status", Some(false)));
        }
    }

    impl Response {
        fn decode_bytes(bytes: Vec<u8>) -> Response {
            Decode::decode(bytes).unwrap()
        }
    }
}
