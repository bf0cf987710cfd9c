use super::{ToJson, Value};
use alloc::string::String;

impl ToJson for Value {
    fn to_json(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(b) => b.to_json(out),
            Value::Number(n) => out.push_str(n.as_str()),
            Value::String(s) => string(s, out),
            Value::Array(items) => list(items.iter(), out),
            Value::Object(pairs) => object(pairs.iter().map(|(k, v)| (k.as_str(), v)), out),
        }
    }
}

/// Writes a string with the escapes that JSON demands, and no other.
pub(super) fn string(s: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(s.len() + 2);
    out.push('"');
    let mut begin = 0;
    for (at, b) in s.bytes().enumerate() {
        let short = match b {
            b'"' => '"',
            b'\\' => '\\',
            b'\n' => 'n',
            b'\r' => 'r',
            b'\t' => 't',
            0x8 => 'b',
            0xc => 'f',
            0..=0x1f => 'u',
            _ => continue,
        };
        out.push_str(&s[begin..at]);
        begin = at + 1;
        out.push('\\');
        out.push(short);
        if short == 'u' {
            out.push_str("00");
            out.push(HEX[usize::from(b >> 4)] as char);
            out.push(HEX[usize::from(b & 15)] as char);
        }
    }
    out.push_str(&s[begin..]);
    out.push('"');
}

pub(super) fn list<'a, T: ToJson + 'a>(items: impl Iterator<Item = &'a T>, out: &mut String) {
    out.push('[');
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(',');
        }
        item.to_json(out);
    }
    out.push(']');
}

pub(super) fn object<'a, T: ToJson + 'a>(pairs: impl Iterator<Item = (&'a str, &'a T)>, out: &mut String) {
    out.push('{');
    for (i, (key, value)) in pairs.enumerate() {
        if i > 0 {
            out.push(',');
        }
        string(key, out);
        out.push(':');
        value.to_json(out);
    }
    out.push('}');
}
