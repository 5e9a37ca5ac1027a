use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

/// Bytes that show whether a file is text.
pub const TEXT_HEAD: u64 = 64;

/// Why a file is no text that can be read, by its first bytes.
pub fn why_no_text(text: &[u8]) -> Option<&'static str> {
    let head = &text[..text.len().min(TEXT_HEAD as usize)];
    match head {
        [0xff, 0xfe, rest @ ..] if has_text(units(rest, u16::from_le_bytes)) => {
            Some("this text is UTF-16: convert it first, as by `iconv -f utf-16 -t utf-8`")
        }
        [0xfe, 0xff, rest @ ..] if has_text(units(rest, u16::from_be_bytes)) => {
            Some("this text is UTF-16: convert it first, as by `iconv -f utf-16 -t utf-8`")
        }
        _ if is_utf16(units(head, u16::from_le_bytes)) => {
            Some("this text is UTF-16: convert it first, as by `iconv -f utf-16le -t utf-8`")
        }
        _ if is_utf16(units(head, u16::from_be_bytes)) => {
            Some("this text is UTF-16: convert it first, as by `iconv -f utf-16be -t utf-8`")
        }
        _ if !has_text(head.iter().map(|byte| u16::from(*byte))) => Some("this is a binary file, not PGN"),
        _ => None,
    }
}

fn units(bytes: &[u8], order: fn([u8; 2]) -> u16) -> impl Iterator<Item = u16> + Clone {
    bytes.as_chunks::<2>().0.iter().map(move |pair| order(*pair))
}

/// No text has control characters below the tabulator.
fn has_text(mut units: impl Iterator<Item = u16>) -> bool {
    units.all(|unit| unit >= 9)
}

/// Whether this is the head of a PGN in UTF-16 without a byte order mark: at least half of the characters are ASCII, or a
/// fifth if the first two are. A tag of a name in another script begins with seven or more.
fn is_utf16(units: impl Iterator<Item = u16> + Clone) -> bool {
    let all = units.clone().count();
    let is_ascii = |unit: &u16| *unit < 0x7f;
    let ascii = units.clone().filter(is_ascii).count();
    let least = if units.clone().take(2).all(|unit| is_ascii(&unit)) { 5 } else { 2 };
    all >= 2 && least * ascii >= all && has_text(units)
}

/// Joined Windows files have byte order marks in the middle.
pub fn without_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Replaces each carriage return that ends a line alone (classic Mac OS) by a line feed. Offsets stay valid.
pub fn unix_lines(text: &[u8]) -> Cow<'_, [u8]> {
    if !has_lone_carriage_return(text) {
        return Cow::Borrowed(text);
    }
    let mut lines = text.to_owned();
    convert_lines(&mut lines, true);
    Cow::Owned(lines)
}

fn has_lone_carriage_return(text: &[u8]) -> bool {
    let is_alone = |at: usize| !matches!(text.get(at + 1), Some(b'\n' | b'\r'));
    memchr_iter(b'\r', text).any(is_alone)
}

/// [`unix_lines`] in place. Returns where to go on when more follows: an incomplete text may end between CR and LF.
pub fn convert_lines(text: &mut [u8], is_complete: bool) -> usize {
    let mut at = 0;
    while let Some(found) = memchr(b'\r', &text[at..]) {
        let start = at + found;
        at = start + text[start..].iter().take_while(|byte| **byte == b'\r').count();
        if at == text.len() && !is_complete {
            return start;
        }
        // Several carriage returns before a line feed are one damaged line end.
        if text.get(at) != Some(&b'\n') {
            text[start..at].fill(b'\n');
        }
    }
    text.len()
}

/// What follows a byte order mark and blanks.
pub(super) fn indented(line: &[u8]) -> &[u8] {
    without_byte_order_mark(line).trim_ascii_start()
}

/// Whether a line is an escape (`%`) or a comment (`;`), which may stand anywhere, even among tags. It must not be blank.
pub(super) fn is_aside(line: &[u8]) -> bool {
    line[0] == b'%' || indented(line).starts_with(b";")
}

pub(super) fn is_blank(line: &[u8]) -> bool {
    line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_named() {
        let utf16 = |bytes: &[u8]| why_no_text(bytes).is_some_and(|why| why.contains("iconv"));
        assert!(utf16(b"\xff\xfe[\0E\0") && utf16(b"[\0E\0v\0") && utf16(b"\0[\0E\0v"));
        let latin_and_cyrillic: Vec<u8> =
            "Жизнь\r\n[Event \"Ж\"]".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert!(utf16(&latin_and_cyrillic));
        for tag in [
            "[Event \"Чемпионат Москвы по шахматам 2020, финал\"]",
            "[White \"Шахматист\"]\n[Black \"Чемпионка\"]",
            "[Site \"中国国际象棋甲级联赛中国国际象棋甲级联赛中国国际象棋甲级联赛\"]",
        ] {
            for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                assert!(utf16(&tag.encode_utf16().flat_map(bytes).collect::<Vec<u8>>()), "{tag}");
            }
        }
        // 16-bit numbers, also behind what may be a byte order mark, and UTF-32.
        for binary in [
            &b"\x89HDF\r\n\x1a\n\0\0\0"[..],
            b"\x01\0\x02\0\x03\0\x04\0",
            b"A\0\0\0B\0\x20\x4e",
            b"A\0\x20\x4e\x21\x4e\x22\x4e\x23\x4e",
            b"A\0B\0\x07\0\x20\x4e",
            b"\xff\xfe\x01\0\x02\0",
            b"\xff\xfe\0\0[\0\0\0",
        ] {
            assert_eq!(why_no_text(binary), Some("this is a binary file, not PGN"), "{binary:?}");
        }
        assert_eq!((why_no_text(b"[Event \"\xfc\"]\r\n\t"), why_no_text(b"")), (None, None));
    }

    #[test]
    fn carriage_returns_alone_end_lines() {
        assert_eq!(&*unix_lines(b"[A \"x\"]\r\r1. e4\r*\r"), b"[A \"x\"]\n\n1. e4\n*\n");
        for same in ["a\r\nb\r\n\r\n", "a\r\r\nb", "a\nb", ""] {
            assert!(matches!(unix_lines(same.as_bytes()), Cow::Borrowed(_)), "{same:?}");
        }
        let mut text = *b"a\rb\r\r";
        assert_eq!((convert_lines(&mut text, false), &text), (3, b"a\nb\r\r"));
    }
}
