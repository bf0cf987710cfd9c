use super::{write, Mismatch, Number, Value};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What can be written as JSON.
pub trait ToJson {
    /// Appends the value's JSON, without spaces.
    fn to_json(&self, out: &mut String);
}

/// What can be made of JSON.
pub trait FromJson: Sized {
    /// Makes it of a value, or says what else was wanted.
    fn from_json(value: Value) -> Result<Self, Mismatch>;

    /// What a field is that an object does not have; None when it must be there.
    fn absent() -> Option<Self> {
        None
    }
}

impl FromJson for Value {
    fn from_json(value: Value) -> Result<Value, Mismatch> {
        Ok(value)
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl ToJson for $t {
            fn to_json(&self, out: &mut String) {
                out.push_str(&self.to_string());
            }
        }

        impl FromJson for $t {
            fn from_json(value: Value) -> Result<$t, Mismatch> {
                let parsed = match &value {
                    Value::Number(n) => n.as_str().parse().ok(),
                    _ => None,
                };
                parsed.ok_or_else(|| Mismatch::new(concat!("an integer of type ", stringify!($t)), &value))
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl ToJson for f64 {
    fn to_json(&self, out: &mut String) {
        out.push_str(Number::from_f64(*self).as_ref().map_or("null", Number::as_str));
    }
}

impl FromJson for f64 {
    fn from_json(value: Value) -> Result<f64, Mismatch> {
        value.as_f64().ok_or_else(|| Mismatch::new("a number", &value))
    }
}

impl ToJson for bool {
    fn to_json(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl FromJson for bool {
    fn from_json(value: Value) -> Result<bool, Mismatch> {
        match value {
            Value::Bool(b) => Ok(b),
            other => Err(Mismatch::new("a boolean", &other)),
        }
    }
}

impl ToJson for str {
    fn to_json(&self, out: &mut String) {
        write::string(self, out);
    }
}

impl ToJson for String {
    fn to_json(&self, out: &mut String) {
        write::string(self, out);
    }
}

impl FromJson for String {
    fn from_json(value: Value) -> Result<String, Mismatch> {
        match value {
            Value::String(s) => Ok(s),
            other => Err(Mismatch::new("a string", &other)),
        }
    }
}

impl ToJson for () {
    fn to_json(&self, out: &mut String) {
        out.push_str("null");
    }
}

impl FromJson for () {
    /// Takes any value, and forgets it.
    fn from_json(_: Value) -> Result<(), Mismatch> {
        Ok(())
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn to_json(&self, out: &mut String) {
        (**self).to_json(out);
    }
}

impl<T: ToJson + ?Sized> ToJson for Box<T> {
    fn to_json(&self, out: &mut String) {
        (**self).to_json(out);
    }
}

impl<T: FromJson> FromJson for Box<T> {
    fn from_json(value: Value) -> Result<Box<T>, Mismatch> {
        T::from_json(value).map(Box::new)
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self, out: &mut String) {
        match self {
            Some(v) => v.to_json(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value) -> Result<Option<T>, Mismatch> {
        match value {
            Value::Null => Ok(None),
            some => T::from_json(some).map(Some),
        }
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: ToJson> ToJson for [T] {
    fn to_json(&self, out: &mut String) {
        write::list(self.iter(), out);
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self, out: &mut String) {
        write::list(self.iter(), out);
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value) -> Result<Vec<T>, Mismatch> {
        match value {
            Value::Array(items) => {
                items.into_iter().enumerate().map(|(i, item)| T::from_json(item).map_err(|m| m.inside(&i.to_string()))).collect()
            }
            other => Err(Mismatch::new("an array", &other)),
        }
    }
}

impl<T: ToJson> ToJson for BTreeMap<String, T> {
    fn to_json(&self, out: &mut String) {
        write::object(self.iter().map(|(k, v)| (k.as_str(), v)), out);
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(value: Value) -> Result<BTreeMap<String, T>, Mismatch> {
        value
            .into_object()?
            .0
            .into_iter()
            .map(|(key, value)| match T::from_json(value) {
                Ok(v) => Ok((key, v)),
                Err(m) => Err(m.inside(&key)),
            })
            .collect()
    }
}
