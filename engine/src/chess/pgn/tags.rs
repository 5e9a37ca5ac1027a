use std::borrow::Cow;

use memchr::{memchr, memchr2, memrchr};

use super::lines::indented;
use super::split::resembles_tag;

/// Names and values as in the file, with escapes.
pub type Tags = Vec<(Vec<u8>, Vec<u8>)>;

/// Removes the escapes; the text is UTF-8, or else Latin-1, as in old files.
pub fn decoded(value: &[u8]) -> Cow<'_, str> {
    if memchr(b'\\', value).is_none() {
        return text_of(value);
    }
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        plain.push(if byte == b'\\' { bytes.next().unwrap_or(byte) } else { byte });
    }
    Cow::Owned(text_of(&plain).into_owned())
}

/// Escapes a value and puts it on one line.
pub fn encoded(value: &str) -> Vec<u8> {
    value.replace(char::is_control, " ").replace('\\', "\\\\").replace('"', "\\\"").into_bytes()
}

/// Decodes UTF-8, or else Latin-1.
pub(super) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// Reads the tag pairs of a line that begins with a bracket, without malformed ones. Returns the bytes read.
pub(super) fn read_tags(line: &[u8], tags: &mut Tags) -> usize {
    let mut at = line.len() - indented(line).len();
    while line[at..].starts_with(b"[") && resembles_tag(&line[at..]) {
        let (name, value, length) = match pair(&line[at..]) {
            Some(pair) => pair,
            // A tag without a value ends at its bracket, or else with the line.
            None => {
                let end = memchr(b']', &line[at..]).map_or(line.len(), |close| at + close + 1);
                tags.extend(bare_start(&line[at..end]));
                return end;
            }
        };
        let name = if name.eq_ignore_ascii_case(b"FEN") { b"FEN" } else { name };
        match bare_start(&line[at..at + length]) {
            // With an odd first quote the value is a part of the name.
            Some(start) if name != b"FEN" => tags.push(start),
            _ if name.is_empty() || name.contains(&b'[') => (),
            _ => tags.push((name.to_owned(), value.into_owned())),
        }
        at += length;
        at += line[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }
    at
}

/// A FEN tag whose value is not between two `"`. Its game must not begin at the initial position in silence.
fn bare_start(tag: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let inside = tag.trim_ascii().strip_prefix(b"[")?.trim_ascii();
    let inside = inside.strip_suffix(b"]").unwrap_or(inside);
    let (name, value) = inside.split_at_checked(3)?;
    let is_longer = value.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    if !name.eq_ignore_ascii_case(b"FEN") || is_longer {
        return None;
    }
    let value = text_of(value);
    let value = value.trim_matches(|c: char| c.is_whitespace() || ":\"'`´‘’“”„«»".contains(c));
    (!value.is_empty()).then(|| (b"FEN".to_vec(), value.as_bytes().to_vec()))
}

/// Whether what follows the tags on a line may be ignored: comments, markup, commas.
pub(super) fn is_remark(mut rest: &[u8]) -> bool {
    loop {
        rest = rest.trim_ascii();
        let close = match rest {
            [] | [b';', ..] => return true,
            [b',', ..] => Some(0),
            [b'{', ..] => memchr(b'}', rest),
            [b'<', ..] => memchr(b'>', rest),
            _ => return false,
        };
        let Some(close) = close else { return false };
        rest = &rest[close + 1..];
    }
}

type Pair<'a> = (&'a [u8], Cow<'a, [u8]>, usize);

fn pair(line: &[u8]) -> Option<Pair<'_>> {
    let open = memchr2(b'"', b']', line).filter(|at| line[*at] == b'"')?;
    let name = line[1..open].trim_ascii();
    let close = closing_quote(line, open + 1);
    // A quote not followed by the closing bracket belongs to the value, which ends at the line's last quote.
    let (end, length) = match close.and_then(|close| Some((close, bracket(line, close + 1)?))) {
        Some((close, bracket)) => (close, bracket + 1),
        None => match memrchr(b'"', line).filter(|last| *last > open) {
            Some(last) => (last, bracket(line, last + 1).map_or(line.len(), |bracket| bracket + 1)),
            None => {
                let value = line.trim_ascii_end();
                (value.strip_suffix(b"]").map_or(value.len(), <[u8]>::len).max(open + 1), line.len())
            }
        },
    };
    let value = &line[open + 1..end];
    let sound = closing_quote(line, open + 1).is_some_and(|close| close >= end);
    Some((name, if sound { Cow::Borrowed(value) } else { Cow::Owned(with_escapes(value)) }, length))
}

fn closing_quote(line: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Only blanks may precede the bracket.
fn bracket(line: &[u8], at: usize) -> Option<usize> {
    let blanks = line[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    (line.get(at + blanks) == Some(&b']')).then_some(at + blanks)
}

fn with_escapes(value: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(value.len() + 2);
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => escaped.extend(b"\\\""),
            b'\\' => escaped.extend([b'\\', bytes.next().unwrap_or(b'\\')]),
            byte => escaped.push(byte),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Vec<(String, String)>, usize) {
        let mut tags = Tags::new();
        let length = read_tags(line.as_bytes(), &mut tags);
        let plain =
            |(name, value): &(Vec<u8>, Vec<u8>)| (text_of(name).into_owned(), decoded(value).into_owned());
        (tags.iter().map(plain).collect(), length)
    }

    #[test]
    fn tags_are_read_with_their_faults() {
        for (line, value) in [
            (r#"[A "x"]"#, "x"),
            (r#"[A ""]"#, ""),
            (r#"[A "a \"quoted\" \\"]"#, r#"a "quoted" \"#),
            (r#"[A "Club "Victory""]  "#, r#"Club "Victory""#),
            (r#"[A"x"]"#, "x"),
            (r#"[A  "x" ]"#, "x"),
            (r#"[A "no end]"#, "no end"),
            (r#"[A "no bracket""#, "no bracket"),
        ] {
            let (tags, length) = read(line);
            assert_eq!(tags, [("A".to_owned(), value.to_owned())], "{line}");
            assert_eq!(length, line.len(), "{line}");
        }
        let (tags, length) = read("[A \"1\"] [B \"2\"] 1. e4");
        assert_eq!((tags.len(), length), (2, 16));
        assert_eq!(read("[Bad tag] e4"), (vec![], 9));
        let (tags, length) = read("[A \"1\"][%clk \"x\"]");
        assert_eq!((tags.len(), length), (1, 7), "what would be no tag on a line of its own is none here");
        let (tags, length) = read("[Événement \"1\"] [_ \"2\"] [ B \"3\" ]");
        let names: Vec<&str> = tags.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, length), (vec!["Événement", "_", "B"], 35));
        assert_eq!(read("[]"), (vec![], 2));
        for (line, fen) in [
            ("[FEN 8/8 w - -]", "8/8 w - -"),
            ("[FEN “8/8 w - -”]", "8/8 w - -"),
            ("[FEN '8/8 w - -']", "8/8 w - -"),
            ("[Fen \"8/8 w - -\"]", "8/8 w - -"),
            ("[FEN “8/8 w - -\"]", "8/8 w - -"),
            ("[FEN: \"8/8 w - -\"]", "8/8 w - -"),
        ] {
            assert_eq!(read(line), (vec![("FEN".to_owned(), fen.to_owned())], line.len()), "{line}");
        }
        assert_eq!(read("[FENCE x]"), (vec![], 9));
        assert_eq!(read("[FEN]"), (vec![], 5));
        assert_eq!(read("[White Elo \"2500\"]").0, [("White Elo".to_owned(), "2500".to_owned())]);
        for remark in ["", " ; x", "{a} {b} ; c", "<br />", " , "] {
            assert!(is_remark(remark.as_bytes()), "{remark}");
        }
        for moves in ["1. e4", "{a} 1. e4", "{open", "*", "<br"] {
            assert!(!is_remark(moves.as_bytes()), "{moves}");
        }
        assert_eq!(
            read("\u{feff}[A \"1\"]"),
            (vec![("A".into(), "1".into())], 10),
            "files joined with their marks"
        );
        let (tags, length) = read("[A \"1\"]\u{feff}[B \"2\"]");
        assert_eq!((tags.len(), length), (1, 7), "a byte-order mark within a line");
        assert_eq!(decoded(b"M\xfcller"), "Müller");
        assert_eq!(encoded("a\n\"b\"\\"), br#"a \"b\"\\"#);
    }
}
