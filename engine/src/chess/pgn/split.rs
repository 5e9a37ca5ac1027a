//! Where the games of a text start.

use memchr::{memchr, memrchr};

/// The text without a leading byte order mark, which files written on Windows have, also where they were joined.
pub fn without_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Whether a line is a tag pair that can start a game: lines of comments can begin with a bracket, too.
fn is_tag(line: &[u8]) -> bool {
    let Some(name) = without_byte_order_mark(line).strip_prefix(b"[") else { return false };
    let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    length > 0 && name[length..].trim_ascii_start().starts_with(b"\"")
}

/// Whether a line belongs to a tag section, also if it is malformed: one bad tag does not start a new game.
pub(super) fn resembles_tag(line: &[u8]) -> bool {
    matches!(without_byte_order_mark(line), [b'[', byte, ..] if byte.is_ascii_alphanumeric())
}

/// Whether the tag pair `line` starts a game after the line `before`, the nearest that is not empty; `gap` if there are
/// empty lines between them.
///
/// ChessBase leaves empty lines among the tags of a game; but an Event tag after an empty line is the next game, and
/// the previous one has no moves.
fn starts_game(before: &[u8], gap: bool, line: &[u8]) -> bool {
    !resembles_tag(before) || gap && without_byte_order_mark(line).starts_with(b"[Event ")
}

fn is_blank(line: &[u8]) -> bool {
    line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty()
}

/// The start of the last game in `text` that is not the first.
pub fn last_game_start(text: &[u8]) -> Option<usize> {
    let mut candidate: Option<(usize, &[u8])> = None;
    let mut gap = false;
    let mut end = text.len();
    loop {
        let start = memrchr(b'\n', &text[..end]).map_or(0, |newline| newline + 1);
        let line = &text[start..end];
        if is_blank(line) {
            gap = true;
        } else {
            if let Some((at, tag)) = candidate
                && starts_game(line, gap, tag)
            {
                return Some(at);
            }
            candidate = is_tag(line).then_some((start, line));
            gap = false;
        }
        if start == 0 {
            return None;
        }
        end = start - 1;
    }
}

/// The offsets at which the games of a text start.
pub fn game_starts(text: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut before: Option<&[u8]> = None;
    let mut gap = false;
    let mut line_start = 0;
    while line_start < text.len() {
        let line_end = memchr(b'\n', &text[line_start..]).map_or(text.len(), |n| line_start + n);
        let line = &text[line_start..line_end];
        if is_blank(line) {
            gap = true;
        } else {
            if is_tag(line) && before.is_some_and(|before| starts_game(before, gap, line)) {
                starts.push(line_start);
            }
            before = Some(line);
            gap = false;
        }
        line_start = line_end + 1;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str =
        "[Event \"a\"]\n\n[Site \"b\"]\n1. e4 {\n[%eval 0.1] }\n[no tag]\n e5 *\n\n[Event \"c\"]\n\n*\n";

    fn pieces(text: &str) -> Vec<&str> {
        let starts = game_starts(text.as_bytes());
        let ends = starts.iter().copied().skip(1).chain([text.len()]);
        starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
    }

    #[test]
    fn games_start_at_tags_after_moves() {
        assert_eq!(pieces(TWO).len(), 2);
        assert!(pieces(TWO)[1].starts_with("[Event \"c\"]"));
        assert_eq!(pieces("1. e4 *\r\n[White \"x\"]\r\n\r\n*").len(), 2);
        assert_eq!(pieces("\n\n[Event \"a\"]\n[Bad tag]\n[Date \"x\"]\n\n*").len(), 1);
        assert_eq!(pieces("\u{feff}[Event \"a\"]\n[Date \"x\"]\n\n*").len(), 1);
        assert_eq!(pieces("*\n\n\u{feff}[Event \"a\"]\n[Date \"x\"]\n\n*").len(), 2);
        assert_eq!(pieces("[Event \"no moves\"]\n[FEN \"x\"]\n \n[Event \"b\"]\n\n*").len(), 2);
    }

    #[test]
    fn the_last_start_is_the_last_of_all_starts() {
        let texts = [
            TWO,
            "1. e4 *\n[White \"x\"]\n\n*",
            "[A \"1\"]\n*",
            "*",
            "",
            "*\n\n[A \"1\"]\n[B \"2\"]",
            "[Event \"1\"]\n\n[Event \"2\"]\n\n[Date \"x\"]\n",
            "\n\n[Event \"1\"]\n[Event \"2\"]\n",
        ];
        for text in texts {
            let last = *game_starts(text.as_bytes()).last().unwrap();
            assert_eq!(last_game_start(text.as_bytes()), Some(last).filter(|at| *at > 0), "{text}");
        }
    }
}
