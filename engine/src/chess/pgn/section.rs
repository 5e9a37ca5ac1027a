//! The games of a text, one after the other, with the lines where they are.

use std::borrow::Cow;
use std::io::{self, Cursor};

use memchr::memchr_iter;
use pgn_reader::{Reader, Visitor};

use super::repair::{has_tags, repair};
use super::split::game_starts;

/// Bytes of the longest line of tags.
const LONGEST_TAG_LINE: usize = 4096;

/// A visitor of games that says whether it was given the last one to its end.
pub trait GameVisitor: Visitor {
    /// Whether the last game was read to its end.
    fn ended(&self) -> bool;
}

/// What was made of a game's text.
#[derive(Debug)]
pub struct ReadGame<T> {
    /// The line where the game starts, from 1.
    pub game_line: u64,
    /// The line where reading it ended.
    pub line: u64,
    /// What the visitor made of it, or why the text cannot be read.
    pub output: io::Result<T>,
}

/// Reads the games of a text in their order; its first line has the number `first_line`. The text is
/// [repaired](super), and with `rest_of_line` its comments that begin with a semicolon, which pgn-reader skips, are
/// read.
pub fn each_game<V: GameVisitor>(
    text: &[u8],
    first_line: u64,
    rest_of_line: bool,
    visitor: &mut V,
    mut take: impl FnMut(ReadGame<V::Output>),
) {
    let starts = game_starts(text);
    let mut line = first_line;
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        let section = &text[*start..end];
        read_section(section, line, rest_of_line, visitor, &mut take);
        line += memchr_iter(b'\n', section).count() as u64;
    }
}

/// Reads the games of a section: one, or several if they have no tags.
fn read_section<V: GameVisitor>(
    original: &[u8],
    first_line: u64,
    rest_of_line: bool,
    visitor: &mut V,
    take: &mut impl FnMut(ReadGame<V::Output>),
) {
    let mut repaired = repair(original);
    if rest_of_line {
        repaired = Cow::Owned(with_braces(&repaired));
    }
    let text = &*repaired;
    // Repairs keep every byte's offset but may remove newlines.
    let line_at = |offset: usize| {
        first_line + memchr_iter(b'\n', &original[..offset.min(original.len())]).count() as u64
    };
    let tagged = has_tags(text);
    let mut offset = 0;
    loop {
        offset = text.len() - text[offset..].trim_ascii_start().len();
        let game_line = line_at(offset);
        let builder = Reader::build(Cursor::new(&text[offset..]));
        let mut reader = builder.set_supported_tag_line_length(LONGEST_TAG_LINE).finish();
        let outcome = reader.read_game(visitor);
        let unread = reader.buffer().len();
        offset += reader.into_inner().position() as usize - unread;
        let Some(output) = outcome.transpose() else { return };
        let failed = output.is_err();
        take(ReadGame { game_line, line: line_at(offset), output });
        if failed || !visitor.ended() {
            // The reader stopped inside the game. What follows an empty line is another game if
            // the games have no tags, else it is no game.
            match empty_line(&text[offset..]) {
                Some(gap) if !tagged => offset += gap,
                _ => return,
            }
        }
    }
}

/// Where the next empty line is.
fn empty_line(text: &[u8]) -> Option<usize> {
    memchr_iter(b'\n', text).find(|newline| matches!(text[newline + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

/// The text with its comments to the end of a line in braces; every byte keeps its offset.
fn with_braces(text: &[u8]) -> Vec<u8> {
    let mut braced = text.to_vec();
    let mut at = 0;
    while at < braced.len() {
        match braced[at] {
            b'{' => at = find(&braced, at, b'}'),
            // Tags and escaped lines.
            b'[' | b'%' if at == 0 || braced[at - 1] == b'\n' => at = find(&braced, at, b'\n'),
            b';' => {
                let end = find(&braced, at, b'\n');
                braced[at] = b'{';
                braced[at + 1..end].iter_mut().filter(|byte| **byte == b'}').for_each(|byte| *byte = b')');
                match end {
                    end if end == braced.len() => braced.push(b'}'),
                    end if end > at + 1 && braced[end - 1] == b'\r' => braced[end - 1] = b'}',
                    end => braced[end] = b'}',
                }
                at = end;
            }
            _ => (),
        }
        at += 1;
    }
    braced
}

/// Where the next such byte is, from `at` on; the end if there is none.
fn find(text: &[u8], at: usize, byte: u8) -> usize {
    memchr::memchr(byte, &text[at..]).map_or(text.len(), |found| at + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_to_the_end_of_a_line_get_braces_and_nothing_moves() {
        let braced = |text: &str| String::from_utf8(with_braces(text.as_bytes())).unwrap();
        assert_eq!(braced("1. e4 ; best {by} test\n1... e5"), "1. e4 { best {by) test}1... e5");
        assert_eq!(braced("1. e4 ;x\r\n1... e5 ;y"), "1. e4 {x}\n1... e5 {y}");
        for same in ["[A \"b;c\"]\n\n1. e4 {a;b} *\n% e;f\n", "", "{open ; comment"] {
            assert_eq!(braced(same), same);
        }
    }
}
