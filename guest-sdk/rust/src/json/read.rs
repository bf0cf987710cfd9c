use super::{Number, Value};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// How deep a value may be nested: what reads it calls itself.
const MAX_DEPTH: usize = 200;

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What was wanted.
    pub want: &'static str,
    /// The offset in bytes at which something else came.
    pub at: usize,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not JSON at byte {}: want {}", self.at, self.want)
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Malformed {}

pub(super) fn parse(text: &[u8]) -> Result<Value, Malformed> {
    let text = core::str::from_utf8(text).map_err(|e| Malformed { want: "UTF-8", at: e.valid_up_to() })?;
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.wants("the end"));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn wants(&self, want: &'static str) -> Malformed {
        Malformed { want, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Skips a byte when it is the next.
    fn skip(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += is as usize;
        is
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, Malformed> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.wants("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        self.space();
        if depth > MAX_DEPTH {
            return Err(self.wants("less nesting"));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            _ => self.word("null", Value::Null),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Malformed> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.skip(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.skip(b']') {
                return Ok(Value::Array(items));
            }
            if !self.skip(b',') {
                return Err(self.wants("a comma or a bracket"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Malformed> {
        self.at += 1;
        let mut pairs = Vec::new();
        self.space();
        if self.skip(b'}') {
            return Ok(Value::Object(pairs));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.wants("a key"));
            }
            let key = self.string()?;
            self.space();
            if !self.skip(b':') {
                return Err(self.wants("a colon"));
            }
            pairs.push((key, self.value(depth + 1)?));
            self.space();
            if self.skip(b'}') {
                return Ok(Value::Object(pairs));
            }
            if !self.skip(b',') {
                return Err(self.wants("a comma or a brace"));
            }
        }
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let begin = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == begin {
            return Err(self.wants("a digit"));
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Malformed> {
        let begin = self.at;
        self.skip(b'-');
        if !self.skip(b'0') {
            self.digits()?;
        }
        if self.skip(b'.') {
            self.digits()?;
        }
        if self.skip(b'e') || self.skip(b'E') {
            let _ = self.skip(b'+') || self.skip(b'-');
            self.digits()?;
        }
        Ok(Value::Number(Number::from_text(&self.text[begin..self.at])))
    }

    fn string(&mut self) -> Result<String, Malformed> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let begin = self.at;
            while matches!(self.peek(), Some(b) if b != b'"' && b != b'\\' && b >= 0x20) {
                self.at += 1;
            }
            out.push_str(&self.text[begin..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.wants("a quote, or an escape for a control character")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Malformed> {
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => c as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.wants("an escape")),
        };
        self.at += 1;
        Ok(c)
    }

    /// Reads uXXXX, or two of them that are one character.
    fn unicode(&mut self) -> Result<char, Malformed> {
        let high = self.unit()?;
        let code = match high {
            0xd800..=0xdbff if self.text[self.at..].starts_with("\\u") => {
                self.at += 1;
                match self.unit()? {
                    low @ 0xdc00..=0xdfff => 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00),
                    _ => high,
                }
            }
            _ => high,
        };
        char::from_u32(code).ok_or_else(|| self.wants("both halves of a character"))
    }

    fn unit(&mut self) -> Result<u32, Malformed> {
        let hex = self.text.as_bytes().get(self.at + 1..self.at + 5);
        let unit = hex.and_then(|h| h.iter().try_fold(0, |n, &b| Some(n << 4 | (b as char).to_digit(16)?)));
        self.at += 5;
        unit.ok_or(Malformed { want: "four hexadecimal digits", at: self.at - 4 })
    }
}
