use memchr::{memchr, memchr2, memchr2_iter};

use shakmaty::san::SanPlus;

use super::lexer::{LONGEST_NESTED_COMMENT, balanced_close};
use super::lines::{indented, is_aside, is_blank, without_byte_order_mark};

/// Returns the offsets where games start, first 0. A part may be several games without tags.
pub fn game_starts(text: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    scan(text, true, |at| starts.push(at));
    starts
}

/// Returns the start of the last game unless it is the first. The text may continue.
pub fn last_game_start(text: &[u8]) -> Option<usize> {
    let mut last = None;
    scan(text, false, |at| last = Some(at));
    last
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Tags,
    Moves,
}

/// Reports every start but the first, in one pass over the lines.
fn scan(text: &[u8], is_complete: bool, mut starts_at: impl FnMut(usize)) {
    let mut before = Before::Nothing;
    let (mut has_tags, mut has_ended, mut gap) = (false, false, false);
    let mut braces = Braces { text, is_complete, next: 0 };
    // Where the comment begins that is open at the line's start.
    let mut comment = None;
    let mut at = 0;
    while at < text.len() {
        let end = memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
        let line = &text[at..end];
        let start = at;
        at = end + 1;
        if is_blank(line) {
            gap = true;
            continue;
        }
        if let Some(opened) = comment {
            let close = memchr(b'}', line);
            if is_aside(line) && close.is_none() {
                continue;
            }
            // A comment ends at its brace, and may quote a tag. One without an end brace ends where a game begins.
            let rest = text.get(at..).unwrap_or_default();
            let begun = may_begin_game(line, gap, has_ended, (rest, is_complete));
            // The value of a tag may have braces.
            let from = if begun == Some(Before::Tags) { end } else { start };
            if let Some(begun) = begun.filter(|_| !braces.close(opened, from)) {
                starts_at(start);
                (before, has_tags) = (begun, begun == Before::Tags);
                comment = if has_tags { None } else { opens_comment(line).map(|open| start + open) };
                has_ended = !has_tags && comment.is_none() && ends_with_result(line);
            } else if let Some(close) = close {
                comment = opens_comment(&line[close + 1..]).map(|open| start + close + 1 + open);
                has_ended = comment.is_none() && ends_with_result(line);
            } else {
                has_ended = ends_with_result(line);
            }
        } else if is_tag(line) && before != Before::Nothing && starts_game(before, gap, has_ended, line) {
            starts_at(start);
            (before, has_tags, has_ended) = (Before::Tags, true, false);
        } else if resembles_tag(line) && before != Before::Moves {
            (before, has_tags) = (Before::Tags, true);
        } else if !is_aside(line) {
            if before == Before::Moves && gap && (!has_tags || has_ended) && begins_with_move_one(line) {
                starts_at(start);
                has_tags = false;
            }
            before = Before::Moves;
            comment = opens_comment(line).map(|open| start + open);
            has_ended = ends_with_result(line);
        } else {
            continue;
        }
        gap = false;
    }
}

/// What a line within a comment may begin, if the comment lacks its end brace. `gap`: an empty line precedes;
/// `has_ended`: the text before it ends with a result.
fn may_begin_game(
    line: &[u8],
    gap: bool,
    has_ended: bool,
    (rest, is_complete): (&[u8], bool),
) -> Option<Before> {
    if is_tag(line) {
        let is_first = gap || has_ended || line.starts_with(b"[Event ");
        let is_start = is_first && memchr(b'}', line).is_none() && tags_begin_game(rest, is_complete);
        return is_start.then_some(Before::Tags);
    }
    let is_first_move = || begins_with_move_one(line) && begins_with_move(line[2..].trim_ascii_start());
    (has_ended && is_first_move()).then_some(Before::Moves)
}

/// The offset of the first line of a comment that looks like the begin of another game: with more opening than closing
/// braces, the comment may lack its end.
pub(super) fn quoted_game(comment: &[u8]) -> Option<usize> {
    let braces = memchr2_iter(b'{', b'}', comment).map(|at| if comment[at] == b'{' { 1 } else { -1 });
    if braces.sum::<i64>() <= 0 {
        return None;
    }
    let (mut gap, mut has_ended, mut start) = (false, false, 0);
    for line in comment.split_inclusive(|byte| *byte == b'\n') {
        let end = start + line.len();
        if is_blank(line) {
            gap = true;
        } else {
            // Prose has numbers of moves too, but rarely at the start of a paragraph.
            let begins = may_begin_game(line, gap, gap || has_ended, (&comment[end..], true));
            if start > 0 && begins.is_some() {
                return Some(start);
            }
            (gap, has_ended) = (false, ends_with_result(line));
        }
        start = end;
    }
    None
}

/// Whether tags, of which `rest` follows the first, are those of a game: moves, a result, a comment, a variation or more
/// tags come after them.
fn tags_begin_game(mut rest: &[u8], is_complete: bool) -> bool {
    let mut is_among_tags = true;
    while !rest.is_empty() {
        let line = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
        rest = rest.get(line.len() + 1..).unwrap_or_default();
        if !is_blank(line) && is_aside(line) {
            continue;
        }
        is_among_tags &= is_tag(line);
        if !is_among_tags && !is_blank(line) {
            let line = indented(line);
            return matches!(line[0], b'0'..=b'9' | b'*' | b'{' | b'[' | b'(' | b'$')
                || begins_with_move(line);
        }
    }
    is_complete
}

fn begins_with_move(line: &[u8]) -> bool {
    let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    SanPlus::from_ascii(word).is_ok()
}

struct Braces<'a> {
    text: &'a [u8],
    is_complete: bool,
    next: usize,
}

impl Braces<'_> {
    /// Whether the comment that begins at `opened`, without braces up to `at`, has an end brace, or may have one after an
    /// incomplete text: the next brace, or, of nested comments, the one that balances it.
    fn close(&mut self, opened: usize, at: usize) -> bool {
        if self.next < at {
            self.next = memchr2(b'{', b'}', &self.text[at..]).map_or(self.text.len(), |found| at + found);
        }
        match self.text.get(self.next) {
            None => !self.is_complete,
            Some(b'}') => true,
            Some(_) => {
                balanced_close(self.text, opened).is_some()
                    || !self.is_complete && self.text.len() - opened < LONGEST_NESTED_COMMENT
            }
        }
    }
}

/// The offset of the `{` whose comment does not end on the line.
fn opens_comment(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let open = at + memchr2(b'{', b';', &line[at..]).filter(|open| line[at + open] == b'{')?;
        match memchr(b'}', &line[open..]) {
            Some(close) => at = open + close + 1,
            None => return Some(open),
        }
    }
}

/// Whether a line is a tag pair that can start a game; lines of comments can begin with a bracket too.
fn is_tag(line: &[u8]) -> bool {
    let Some(name) = indented(line).strip_prefix(b"[") else { return false };
    let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    length > 0 && name[length..].trim_ascii_start().starts_with(b"\"")
}

/// Whether a line belongs to a tag section, even if malformed: a bad tag does not start a game. A command of a comment,
/// as `[%clk 1]`, is none.
pub(super) fn resembles_tag(line: &[u8]) -> bool {
    matches!(indented(line), [b'[', byte, ..] if *byte != b'%')
}

/// Whether the tag pair `line` starts a game; `gap`: an empty line precedes. ChessBase leaves empty lines among tags,
/// but an Event tag after one starts the next game, and the previous game has no moves. An indented tag within moves is
/// part of a nested comment.
fn starts_game(before: Before, gap: bool, has_ended: bool, line: &[u8]) -> bool {
    match before {
        Before::Moves => gap || has_ended || without_byte_order_mark(line).starts_with(b"["),
        _ => gap && indented(line).starts_with(b"[Event "),
    }
}

/// Whether the last word of a text is a game's result.
pub fn ends_with_result(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    [&b"1-0"[..], b"0-1", b"1/2-1/2", b"*"].iter().any(|result| line.ends_with(result))
}

/// Excludes `1...`.
fn begins_with_move_one(line: &[u8]) -> bool {
    matches!(line, [b'1', b'.', rest @ ..] if !rest.starts_with(b"."))
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
        assert_eq!(pieces("% a\n[Event \"a\"]\n; b\n% c\n[Date \"x\"]\n\n*\n; d\n[Event \"b\"]\n").len(), 2);
    }

    #[test]
    fn tags_inside_a_comment_start_a_game_only_if_it_is_never_closed() {
        assert_eq!(pieces("[Event \"a\"]\n\n1. e4 {see\n\n[Event \"b\"]\n[Site \"c\"]\n\n} e5 *\n").len(), 1);
        let open = "[Event \"a\"]\n\n1. e4 {see\n\n[Event \"b\"]\n[Site \"c\"]\n\n1. d4 ";
        assert_eq!(pieces(&format!("{open}*\n")).len(), 2);
        assert_eq!(pieces(&format!("{open}{{x}} *\n")).len(), 2);
        assert_eq!(last_game_start(open.as_bytes()), None, "the comment may still be closed");
        let long = format!("{open}{{x}} {} *\n", "Nf3 Nf6 Ng1 Ng8 ".repeat(LONGEST_NESTED_COMMENT / 16));
        assert_eq!(last_game_start(&long.as_bytes()[..1000]), None, "it may be nested");
        assert!(last_game_start(long.as_bytes()).is_some());
        let nested = "1. e4 {see\n\n[Event \"b\"]\n\n1. d4 {best} d5 *\n} e5 *\n\n[Event \"c\"]\n\n*\n";
        assert_eq!(pieces(nested).len(), 2);
        let nested = "1. e4 {first {inner} rest\n [White \"x\"]\n end} e5 2. Nf3 Nc6 *\n";
        assert_eq!(pieces(&format!("{nested} [White \"y\"]\n\n*\n\n [White \"z\"]\n\n*\n")).len(), 3);
        assert_eq!(pieces("1. e4 ; no { brace\n[Event \"a\"]\n\n*").len(), 2);
        for comment in [
            "\n\n[Event \"x\"]",
            "a {\n\n[Event \"x\"]\n\n1. d4 *",
            "\n\n[Event \"x\"]\nb { c",
            "[A \"\"]\n\n[B \"{\"]",
        ] {
            let text = format!("[Event \"a\"]\n\n1. e4 {{{comment}}} e5 {{z}} *\n\n[Event \"b\"]\n\n*\n");
            assert_eq!(pieces(&text).len(), 2, "{text}");
        }
    }

    #[test]
    fn a_game_after_an_unclosed_comment_is_found_whatever_it_begins_with() {
        for game in [
            " [Event \"b\"]\n[Site \"c\"]\n\n1. d4 *",
            "\t[Event \"b\"]\n \t[Site \"c\"]\n\n1. d4 *",
            "; c\n[Event \"b\"]\n\n1. d4 *",
            "% c\n ; c\n[Event \"b\"]\n\n1. d4 *",
            "[Event \"b\"]\n; c\n% c\n[Site \"c\"]\n\n1. d4 *",
            "[Event \"b\"]\n\n; c\n1. d4 *",
            "[Event \"b\"]\n\n% c\n1. d4 *",
            "[Event \"b\"]\n\n(1. c4) 1. d4 *",
            "[Event \"b\"]\n\n$1 1. d4 *",
            "[Event \"b\"]\n\n  1. d4 *",
            "[Event \"b\"]\n\nd4 *",
            "[Event \"b\"]\n\nO-O *",
        ] {
            let text =
                format!("[Event \"a\"]\n\n1. e4 {{open\n e5 *\n\n{game}\n\n[Event \"c\"]\n\n1. c4 *\n");
            let found = pieces(&text);
            assert!(
                found.len() == 3 && found[1].trim_start().starts_with("[Event \"b\"]"),
                "{text}\n{found:?}"
            );
        }
    }

    #[test]
    fn a_game_after_an_unclosed_comment_is_found_without_an_empty_line_or_tags() {
        for (game, next) in [
            ("[Event \"a\"]\n\n1. e4 {open\n e5", "[Event \"b\"]\n[Site \"c\"]\n\n1. d4 *\n"),
            ("[Event \"a\"]\n\n1. e4 {open\n e5 1-0", "[White \"b\"]\n\n1. d4 {x} *\n"),
            ("[Event \"a\"]\n\n1. e4 {open\n e5 1-0", "\n1. d4 d5 0-1\n"),
            ("1. e4 {open e5 1/2-1/2", "1. d4 {x} d5 0-1\n"),
            ("1. e4 {open\n e5 *", "\n\n1.Nf3 {x} Nf6 {y} 0-1\n"),
            ("1. e4 {open\n e5 *", "1. d4 {also open\n\n d5 0-1\n"),
        ] {
            for more in ["[Event \"c\"]\n\n1. c4 {z} *\n", ""] {
                let text = format!("{game}\n{next}{more}");
                let found = pieces(&text);
                assert_eq!(found[1].lines().next(), next.trim_start().lines().next(), "{text}");
                assert_eq!(found.len(), 2 + usize::from(!more.is_empty()), "{text}");
            }
        }
        // Closed comments may quote games.
        for comment in ["a 1-0\n1. d4 d5", "a *\n\n1. d4 {b} d5 *\n", "\n[Event \"x\"]\n\n1. d4 {b} *\n"] {
            assert_eq!(pieces(&format!("1. e4 {{{comment}}} e5 *\n")).len(), 1, "{comment}");
        }
    }

    #[test]
    fn games_without_tags_start_at_move_one_after_an_empty_line() {
        assert_eq!(pieces("1. e4 e5\n\n1... c5\n\n1. d4 1-0\n1. c4\n\n1. b4").len(), 3);
        assert_eq!(pieces("[Event \"x\"]\n\n1. e4\n\n1. d4 *\n\n1. c4").len(), 2);
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
