//! Errors that are common in collections of games, repaired before pgn-reader parses the text.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

use super::split::{resembles_tag, without_byte_order_mark};

/// The repaired text of a game; every byte keeps its offset.
///
/// - An unescaped quote inside a tag's value, which would end the tags, becomes an apostrophe.
/// - An empty line in the movetext, which would end the game, becomes spaces if the game has tags and there is no result
///   before it. (Games without tags are separated by empty lines.)
pub(super) fn repair(text: &[u8]) -> Cow<'_, [u8]> {
    let mut repaired = Cow::Borrowed(text);
    let movetext = repair_tags(text, &mut repaired);
    if has_tags(text) {
        fill_gaps(text, movetext, &mut repaired);
    }
    repaired
}

/// Whether a text begins with a tag.
pub(super) fn has_tags(text: &[u8]) -> bool {
    without_byte_order_mark(text.trim_ascii_start()).starts_with(b"[")
}

/// Repairs the tags and returns the offset of their end.
fn repair_tags(text: &[u8], repaired: &mut Cow<'_, [u8]>) -> usize {
    let mut start = 0;
    while start < text.len() {
        let end = memchr(b'\n', &text[start..]).map_or(text.len(), |newline| start + newline);
        let line = &text[start..end];
        if !resembles_tag(line) && !line.trim_ascii().is_empty() {
            return start;
        }
        for quote in stray_quotes(line) {
            repaired.to_mut()[start + quote] = b'\'';
        }
        start = end + 1;
    }
    text.len()
}

/// The offsets of unescaped quotes in a tag's value; none if the line may hold several tags.
fn stray_quotes(line: &[u8]) -> Vec<usize> {
    let (first, last) = match (memchr(b'"', line), line.iter().rposition(|byte| *byte == b'"')) {
        (Some(first), Some(last)) if first + 1 < last => (first, last),
        _ => return Vec::new(),
    };
    let value = &line[first + 1..last];
    if memchr(b'"', value).is_none() || memchr(b'[', value).is_some() {
        return Vec::new();
    }
    let mut escaped = false;
    let stray = value.iter().enumerate().filter(|(_, byte)| {
        let stray = **byte == b'"' && !escaped;
        escaped = **byte == b'\\' && !escaped;
        stray
    });
    stray.map(|(at, _)| first + 1 + at).collect()
}

fn fill_gaps(text: &[u8], movetext: usize, repaired: &mut Cow<'_, [u8]>) {
    let end = text.trim_ascii_end().len();
    let mut from = movetext;
    while let Some(newline) = memchr_iter(b'\n', &text[from.min(end)..end]).next().map(|at| from + at) {
        let next = end - text[newline..end].trim_ascii_start().len();
        let before = text[..newline].trim_ascii_end();
        let ended = [&b"1-0"[..], b"0-1", b"1/2-1/2", b"*"].iter().any(|result| before.ends_with(result));
        // The first newline is kept: it may end a comment.
        if memchr(b'\n', &text[newline + 1..next]).is_some() && !ended {
            repaired.to_mut()[newline + 1..next].fill(b' ');
        }
        from = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(text: &str) -> String {
        String::from_utf8(repair(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn stray_quotes_become_apostrophes() {
        assert_eq!(repaired("[Site \"Club \"Victory\"\"]\r\n\n*"), "[Site \"Club 'Victory'\"]\r\n\n*");
        for sound in [
            r#"[Event "a \"quoted\" \\"]"#,
            r#"[White "a"] [Black "b"]"#,
            "1. e4 {\"no\" \"tag\"} *",
            r#"[Date ""]"#,
        ] {
            assert!(matches!(repair(sound.as_bytes()), Cow::Borrowed(_)), "{sound}");
        }
    }

    #[test]
    fn gaps_are_filled_only_in_the_movetext_of_a_game_with_tags() {
        let text = "[Event \"x\"]\n\n1. e4 ; good\n\n1... e5 *\n\n";
        assert_eq!(repaired(text), "[Event \"x\"]\n\n1. e4 ; good\n 1... e5 *\n\n");
        for sound in ["1. e4 e5 *\n\n1. d4 *\n", "1. e4 e5\n\n1. d4\n", "[A \"x\"]\n\n1. e4 *\n\n1. d4 *", ""]
        {
            assert!(matches!(repair(sound.as_bytes()), Cow::Borrowed(_)), "{sound}");
        }
    }
}
