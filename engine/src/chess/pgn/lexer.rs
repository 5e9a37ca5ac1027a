use memchr::{memchr, memchr_iter};

/// Bytes in which to look for the end of a comment with nested braces.
pub(super) const LONGEST_NESTED_COMMENT: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// A move, number, result or other text between blanks.
    Word(&'a [u8]),
    /// In braces, or from a semicolon to the end of the line.
    Comment(&'a [u8]),
    OpenComment,
    Nag(u8),
    Begin,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme<'a> {
    pub part: Part<'a>,
    pub at: usize,
    pub end: usize,
    pub is_first: bool,
    /// Whether an empty line precedes.
    pub gap: bool,
}

pub(super) struct Lexer<'a> {
    pub text: &'a [u8],
    pub at: usize,
    line: u64,
    counted: usize,
    /// Whether nothing of this line was taken yet.
    is_first: bool,
    gap: bool,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a [u8], first_line: u64) -> Lexer<'a> {
        Lexer { text, at: 0, line: first_line, counted: 0, is_first: true, gap: false }
    }

    /// Offsets must ascend over all calls.
    pub fn line_at(&mut self, offset: usize) -> u64 {
        let offset = offset.min(self.text.len());
        if offset > self.counted {
            self.line += memchr_iter(b'\n', &self.text[self.counted..offset]).count() as u64;
            self.counted = offset;
        }
        self.line
    }

    pub fn peek(&mut self) -> Option<Lexeme<'a>> {
        loop {
            self.skip_blanks();
            let (at, text) = (self.at, self.text);
            let byte = *text.get(at)?;
            let (part, end) = match byte {
                b'{' => comment(text, at),
                b';' => {
                    let end = line_end(text, at);
                    (Part::Comment(text[at + 1..end].strip_suffix(b"\r").unwrap_or(&text[at + 1..end])), end)
                }
                b'%' if at == 0 || text[at - 1] == b'\n' => {
                    self.at = line_end(text, at);
                    continue;
                }
                b'(' => (Part::Begin, at + 1),
                b')' => (Part::End, at + 1),
                b'!' | b'?' => {
                    let length = text[at..].iter().take_while(|byte| matches!(byte, b'!' | b'?')).count();
                    (Part::Nag(nag(&text[at..at + length])), at + length)
                }
                b'$' => {
                    let digits = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                    let end = at + 1 + digits;
                    match std::str::from_utf8(&text[at + 1..end]).ok().and_then(|digits| digits.parse().ok())
                    {
                        Some(nag) => (Part::Nag(nag), end),
                        None => {
                            self.at = end;
                            continue;
                        }
                    }
                }
                // An unmatched closing brace.
                b'}' => {
                    self.at += 1;
                    continue;
                }
                b'*' => (Part::Word(b"*"), at + 1),
                _ => {
                    let length = text[at..].iter().position(|byte| ends_word(*byte));
                    let end = length.map_or(text.len(), |length| at + length);
                    (Part::Word(&text[at..end]), end)
                }
            };
            return Some(Lexeme { part, at, end, is_first: self.is_first, gap: self.gap });
        }
    }

    pub fn advance(&mut self, lexeme: &Lexeme<'a>) {
        self.at = lexeme.end;
        (self.is_first, self.gap) = (false, false);
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.text.get(self.at).filter(|byte| byte.is_ascii_whitespace()) {
            if *byte == b'\n' {
                self.gap |= self.is_first;
                self.is_first = true;
            }
            self.at += 1;
        }
    }
}

pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline)
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'{' | b'}' | b'(' | b')' | b';' | b'!' | b'?' | b'$' | b'*')
}

/// Returns the comment that opens at `at`, and its end.
fn comment(text: &[u8], at: usize) -> (Part<'_>, usize) {
    let Some(first) = memchr(b'}', &text[at..]) else { return (Part::OpenComment, text.len()) };
    let mut close = at + first;
    if memchr(b'{', &text[at + 1..close]).is_some() {
        close = balanced_close(text, at).unwrap_or(close);
    }
    (Part::Comment(&text[at + 1..close]), close + 1)
}

/// The offset of the `}` that ends the comment opened at `at`, if comments nest.
pub(super) fn balanced_close(text: &[u8], at: usize) -> Option<usize> {
    let end = text.len().min(at + LONGEST_NESTED_COMMENT);
    let mut depth = 0_usize;
    memchr::memchr2_iter(b'{', b'}', &text[at..end]).map(|found| at + found).find(|brace| {
        if text[*brace] == b'{' {
            depth += 1
        } else {
            depth -= 1
        }
        depth == 0
    })
}

/// `!` is 1, `?` 2, `!!` 3, `??` 4, `!?` 5, `?!` 6; a third mark is ignored.
fn nag(marks: &[u8]) -> u8 {
    match marks {
        [b'!', b'!', ..] => 3,
        [b'?', b'?', ..] => 4,
        [b'!', b'?', ..] => 5,
        [b'?', b'!', ..] => 6,
        [b'?', ..] => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart() {
        use Part::*;
        let text = b"1.e4!? {a {b} c}(\n% no\n\n1. d4 ; x\r\n$14 $999 ??)}*{d { e} f6!!!{open";
        let mut lexer = Lexer::new(text, 7);
        let mut parts = Vec::new();
        while let Some(lexeme) = lexer.peek() {
            lexer.advance(&lexeme);
            parts.push((lexeme.part, lexer.line_at(lexeme.at), lexeme.is_first, lexeme.gap));
        }
        let expected = [
            (Word(b"1.e4"), 7, true, false),
            (Nag(5), 7, false, false),
            (Comment(b"a {b} c"), 7, false, false),
            (Begin, 7, false, false),
            (Word(b"1."), 10, true, true),
            (Word(b"d4"), 10, false, false),
            (Comment(b" x"), 10, false, false),
            (Nag(14), 11, true, false),
            (Nag(4), 11, false, false),
            (End, 11, false, false),
            (Word(b"*"), 11, false, false),
            (Comment(b"d { e"), 11, false, false),
            (Word(b"f6"), 11, false, false),
            (Nag(3), 11, false, false),
            (OpenComment, 11, false, false),
        ];
        assert_eq!(parts, expected);
    }
}
