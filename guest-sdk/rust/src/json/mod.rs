//! JSON without dependencies: a value that keeps numbers as they are written, so that no integer is rounded, and the order of
//! keys; and the traits by which Rust's types become JSON and are made of it.
//!
//! [`record!`](crate::record) implements both traits for a struct.

mod convert;
mod number;
mod read;
mod record;
mod write;

pub use convert::{FromJson, ToJson};
pub use number::Number;
pub use read::Malformed;
pub use record::{Mismatch, Object};

use alloc::string::String;
use alloc::vec::Vec;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it is written.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object, its keys in the order in which they came.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Reads a value. It fails when the text is not JSON, has an escape for half a character, or is nested more than 200 deep.
    pub fn parse(text: &[u8]) -> Result<Value, Malformed> {
        read::parse(text)
    }

    /// An object of pairs.
    pub fn object<K: Into<String>>(pairs: impl IntoIterator<Item = (K, Value)>) -> Value {
        Value::Object(pairs.into_iter().map(|(k, v)| (k.into(), v)).collect())
    }

    /// The value of a key; None when there is none, and when this is not an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(pairs) => pairs.iter().rfind(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The string; None of what is none.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The integer; None of what is none, or does not fit.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Number(n) => n.as_str().parse().ok(),
            _ => None,
        }
    }

    /// The number; None of what is none. It is rounded when no f64 is the same.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(n) => n.as_str().parse().ok(),
            _ => None,
        }
    }

    /// The elements of an array; None of what is none.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(a) => Some(a),
            _ => None,
        }
    }

    /// The object, to take fields from; a mismatch when it is none.
    pub fn into_object(self) -> Result<Object, Mismatch> {
        match self {
            Value::Object(pairs) => Ok(Object(pairs)),
            other => Err(Mismatch::new("an object", &other)),
        }
    }

    /// What kind of value this is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

macro_rules! from {
    ($($t:ty),*) => {$(
        impl From<$t> for Value {
            fn from(n: $t) -> Value {
                Value::Number(n.into())
            }
        }
    )*};
}

from!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl From<f64> for Value {
    /// What is no number, or infinite, is null.
    fn from(n: f64) -> Value {
        Number::from_f64(n).map_or(Value::Null, Value::Number)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Value {
        Value::String(s.into())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Value {
        Value::String(s)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

impl core::fmt::Display for Value {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut text = String::new();
        self.to_json(&mut text);
        f.write_str(&text)
    }
}
