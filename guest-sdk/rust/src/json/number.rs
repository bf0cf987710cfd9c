use alloc::format;
use alloc::string::{String, ToString};

/// A JSON number as it is written. Integers of any size, and decimals, are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(String);

impl Number {
    /// The number's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The shortest text that reads as the same f64; None of what is no number or infinite.
    pub fn from_f64(n: f64) -> Option<Number> {
        if !n.is_finite() {
            return None;
        }
        let magnitude = if n < 0.0 { -n } else { n };
        let plain = n == 0.0 || (1e-6..1e21).contains(&magnitude);
        Some(Number(if plain { n.to_string() } else { format!("{:e}", n) }))
    }

    /// Text that has been found to be a number.
    pub(super) fn from_text(text: &str) -> Number {
        Number(text.into())
    }
}

macro_rules! from {
    ($($t:ty),*) => {$(
        impl From<$t> for Number {
            fn from(n: $t) -> Number {
                Number(n.to_string())
            }
        }
    )*};
}

from!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);
