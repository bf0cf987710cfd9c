use crate::failure::{Failure, Result};
use crate::json::{FromJson, ToJson, Value};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What inputs, outputs, signals and published values can be made of. Everything that is [`ToJson`] is, and so are [`Bytes`] and,
/// with the feature `serde`, `Serde<T>`.
pub trait Encode {
    /// The payload's bytes.
    fn encode(&self) -> Result<Vec<u8>>;
}

/// What can be made of a payload. Everything that is [`FromJson`] can, and so can [`Bytes`] and, with the feature `serde`,
/// `Serde<T>`.
pub trait Decode: Sized {
    /// Makes it of a payload's bytes. No bytes are `null`.
    fn decode(bytes: Vec<u8>) -> core::result::Result<Self, String>;
}

impl<T: ToJson> Encode for T {
    fn encode(&self) -> Result<Vec<u8>> {
        let mut out = String::new();
        self.to_json(&mut out);
        Ok(out.into_bytes())
    }
}

impl<T: FromJson> Decode for T {
    fn decode(bytes: Vec<u8>) -> core::result::Result<T, String> {
        let value = if bytes.is_empty() { Value::Null } else { Value::parse(&bytes).map_err(|e| e.to_string())? };
        T::from_json(value).map_err(|e| e.to_string())
    }
}

/// A payload as it is, whatever it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Encode for Bytes {
    fn encode(&self) -> Result<Vec<u8>> {
        Ok(self.0.clone())
    }
}

impl Decode for Bytes {
    fn decode(bytes: Vec<u8>) -> core::result::Result<Bytes, String> {
        Ok(Bytes(bytes))
    }
}

/// A payload that serde writes and reads as JSON.
#[cfg(feature = "serde")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Serde<T>(pub T);

#[cfg(feature = "serde")]
impl<T: serde::Serialize> Encode for Serde<T> {
    fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(&self.0).map_err(|e| Failure::invalid(Failure::INVALID_OUTPUT, "the value cannot be encoded:", e))
    }
}

#[cfg(feature = "serde")]
impl<T: serde::de::DeserializeOwned> Decode for Serde<T> {
    fn decode(bytes: Vec<u8>) -> core::result::Result<Serde<T>, String> {
        let text: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
        serde_json::from_slice(text).map(Serde).map_err(|e| e.to_string())
    }
}

/// Reads what a request gave.
pub(crate) fn outcome<T: Decode>(bytes: Vec<u8>) -> Result<T> {
    T::decode(bytes).map_err(|why| Failure::invalid(Failure::INVALID_OUTPUT, "the outcome is not what the caller takes:", why))
}

/// Reads what a function is given.
pub(crate) fn input<T: Decode>(bytes: Vec<u8>) -> Result<T> {
    T::decode(bytes).map_err(|why| Failure::invalid(Failure::INVALID_INPUT, "the input is not what the function takes:", why))
}
