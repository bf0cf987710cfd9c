use super::{FromJson, Value};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The fields of an object, to be taken one by one.
pub struct Object(pub(super) Vec<(String, Value)>);

impl Object {
    /// Takes a field out; of several of the same name the last.
    pub fn take<T: FromJson>(&mut self, key: &str) -> Result<T, Mismatch> {
        match self.0.iter().rposition(|(k, _)| k == key) {
            Some(at) => T::from_json(core::mem::replace(&mut self.0[at].1, Value::Null)).map_err(|m| m.inside(key)),
            None => T::absent().ok_or_else(|| Mismatch { path: key.into(), want: "a value", got: "nothing" }),
        }
    }
}

/// Why a value does not fit a type, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    path: String,
    want: &'static str,
    got: &'static str,
}

impl Mismatch {
    /// Says what was wanted instead of a value.
    pub fn new(want: &'static str, got: &Value) -> Mismatch {
        Mismatch { path: String::new(), want, got: got.kind() }
    }

    /// The same, seen from around a field or an element.
    pub fn inside(self, key: &str) -> Mismatch {
        let path = if self.path.is_empty() { key.into() } else { format!("{}.{}", key, self.path) };
        Mismatch { path, ..self }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "got {}, want {}", self.got, self.want)
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Mismatch {}

/// Declares a struct that is a JSON object: it implements [`ToJson`](crate::json::ToJson) and
/// [`FromJson`](crate::json::FromJson). A field's key is its name, or what stands behind `as`. A field of type `Option` may be
/// absent; fields that the struct does not have are ignored.
///
/// ```
/// reprise::record! {
///     /// What was ordered.
///     #[derive(Clone, Debug)]
///     pub struct Order {
///         pub id: String,
///         pub amount: i64,
///         pub kind as "type": Option<String>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! record {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident $(as $key:literal)? : $type:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl $crate::json::ToJson for $name {
            fn to_json(&self, out: &mut $crate::__private::String) {
                let mut _separator = '{';
                $(
                    out.push(_separator);
                    $crate::json::ToJson::to_json($crate::__key!($field $(, $key)?), out);
                    out.push(':');
                    $crate::json::ToJson::to_json(&self.$field, out);
                    _separator = ',';
                )*
                if _separator == '{' {
                    out.push('{');
                }
                out.push('}');
            }
        }

        impl $crate::json::FromJson for $name {
            fn from_json(value: $crate::json::Value) -> ::core::result::Result<Self, $crate::json::Mismatch> {
                let mut _object = value.into_object()?;
                Ok($name { $($field: _object.take($crate::__key!($field $(, $key)?))?,)* })
            }
        }
    };
}

/// The key of a field.
#[doc(hidden)]
#[macro_export]
macro_rules! __key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident, $key:literal) => {
        $key
    };
}
