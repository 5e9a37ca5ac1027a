use std::ops::ControlFlow;

use memchr::memchr;
use shakmaty::san::SanPlus;
use shakmaty::{Chess, Color, KnownOutcome, Move, Outcome, Position};
use thiserror::Error;

use super::lexer::{Lexeme, Lexer, Part, line_end};
use super::lines::{is_aside, is_blank, without_byte_order_mark};
use super::moves::{Language, NoMove, read_san};
use super::split::{game_starts, quoted_game, resembles_tag};
use super::tags::{Tags, is_remark, read_tags, text_of};

const SHOWN: usize = 20;

/// Everything in a game except the checked moves of its main line.
#[derive(Clone, Copy, Debug)]
pub enum Token<'a> {
    /// A word in place of a move, unchecked: in a variation, a null move, and after one.
    Move(&'a [u8]),
    /// A numeric annotation glyph: `!` is 1, `?` 2, `!!` 3, `??` 4, `!?` 5, `?!` 6.
    Nag(u8),
    /// As in the file, without its braces.
    Comment(&'a [u8]),
    Begin,
    End,
    Result(Outcome),
}

/// Receives the parts of each game. `Break` ends a game early with its output.
pub trait GameVisitor {
    type Output;

    /// Returns the start position, or the output if the game's moves are not needed.
    fn begin(&mut self, tags: Tags) -> Result<Chess, Self::Output>;

    /// Called after each legal move of the main line.
    fn play(&mut self, m: Move, san: SanPlus, after: &Chess) -> ControlFlow<Self::Output>;

    /// `depth` is 0 outside of variations, and 1 at the begin and end of an outermost one; `position` is the main
    /// line's.
    fn token(&mut self, token: Token<'_>, depth: usize, position: &Chess) -> ControlFlow<Self::Output>;

    fn end(&mut self, position: &Chess) -> Self::Output;

    /// Whether a null move ends the main line and what follows are tokens; otherwise it is an error.
    fn allows_null_moves(&self) -> bool {
        false
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PgnError {
    #[error("illegal or ambiguous move {0}")]
    Illegal(String),
    #[error("unreadable move {0}")]
    Unreadable(String),
    #[error("null move {0}: it belongs into a variation")]
    Null(String),
    #[error("{0}")]
    Text(String),
}

#[derive(Debug)]
pub struct ReadGame<T> {
    /// From 1, as `line`.
    pub game_line: u64,
    /// The line that decided the output: of an error, an early end, or the game's end.
    pub line: u64,
    pub output: Result<T, PgnError>,
}

/// Reads the games in order. `text` starts at line `first_line` and has no carriage return that ends a line alone
/// ([`unix_lines`](super::unix_lines)).
pub fn each_game<V: GameVisitor>(
    text: &[u8],
    first_line: u64,
    visitor: &mut V,
    mut take: impl FnMut(ReadGame<V::Output>),
) {
    let starts = game_starts(text);
    let mut line = first_line;
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        let mut lexer = Lexer::new(&text[*start..end], line);
        while let Some(read) = GameReader::read(&mut lexer, visitor) {
            read.into_iter().for_each(&mut take);
        }
        line = lexer.line_at(end - start);
    }
}

struct GameReader<'v, V: GameVisitor> {
    visitor: &'v mut V,
    position: Chess,
    language: Language,
    decided: Option<(Result<V::Output, PgnError>, u64)>,
    has_tags: bool,
    has_text: bool,
    plies: usize,
    /// Lines where the open variations begin.
    variations: Vec<u64>,
    expects_move: bool,
    passed: bool,
    ended: bool,
}

impl<'v, V: GameVisitor> GameReader<'v, V> {
    /// `None` at the end of the text, `Some(None)` for comments without a game.
    fn read(lexer: &mut Lexer<'_>, visitor: &'v mut V) -> Option<Option<ReadGame<V::Output>>> {
        let tags = tag_section(lexer);
        let first = lexer.peek();
        if tags.tags.is_empty() && first.is_none() {
            return None;
        }
        let game_line = match (tags.line, first) {
            (Some(line), _) => line,
            (None, Some(first)) => lexer.line_at(first.at),
            (None, None) => lexer.line_at(lexer.at),
        };
        let has_tags = !tags.tags.is_empty();
        let (position, decided) = match visitor.begin(tags.tags) {
            Ok(position) => (position, None),
            Err(output) => (Chess::default(), Some((Ok(output), game_line))),
        };
        let mut game = GameReader {
            visitor,
            position,
            language: Language::default(),
            decided,
            has_tags,
            has_text: false,
            plies: 0,
            variations: Vec::new(),
            expects_move: false,
            passed: false,
            ended: false,
        };
        while let Some(lexeme) = lexer.peek() {
            if game.ends_before(&lexeme) {
                break;
            }
            lexer.advance(&lexeme);
            game.take(&lexeme, lexer);
        }
        Some(game.finish(game_line, lexer))
    }

    fn ends_before(&self, lexeme: &Lexeme<'_>) -> bool {
        if self.ended {
            return match lexeme.part {
                Part::Comment(_) | Part::Nag(_) => lexeme.gap,
                Part::End => false,
                _ => true,
            };
        }
        let Part::Word(word) = lexeme.part else { return false };
        let number = move_number(word);
        let is_one = matches!(number, Some((1, dots, _)) if dots < 2);
        if self.has_tags {
            return false;
        }
        // Without tags, a game starts at a line that begins with move 1, or after an empty line unless a higher number
        // or a result follows.
        lexeme.is_first && is_one && self.plies >= 2
            || lexeme.gap && self.has_text && (is_one || number.is_none() && result(word).is_none())
    }

    fn take(&mut self, lexeme: &Lexeme<'_>, lexer: &mut Lexer<'_>) {
        self.has_text |= !matches!(lexeme.part, Part::Comment(_) | Part::Nag(_));
        match lexeme.part {
            Part::Word(word) => self.word(word, lexeme, lexer),
            Part::Comment(comment) => match quoted_game(comment) {
                None => self.token(Token::Comment(comment), lexeme, lexer),
                Some(at) => self.doubtful_comment(at, lexeme, lexer),
            },
            Part::OpenComment => self.open_comment(lexeme, lexer),
            Part::Nag(nag) => self.token(Token::Nag(nag), lexeme, lexer),
            Part::Begin => {
                self.variations.push(lexer.line_at(lexeme.at));
                self.token(Token::Begin, lexeme, lexer);
            }
            // An unmatched closing bracket is ignored.
            Part::End if self.variations.is_empty() => (),
            Part::End => {
                self.token(Token::End, lexeme, lexer);
                self.variations.pop();
            }
        }
    }

    fn open_comment(&mut self, lexeme: &Lexeme<'_>, lexer: &mut Lexer<'_>) {
        let line = lexer.line_at(lexeme.at);
        let last = lexer.line_at(lexer.text.trim_ascii_end().len());
        let skipped =
            if last > line { format!(": lines {line} to {last} are not read") } else { String::new() };
        self.fail_at(PgnError::Text(format!("a comment is not closed{skipped}")), line);
    }

    /// `at` is where the comment has what may be another game.
    fn doubtful_comment(&mut self, at: usize, lexeme: &Lexeme<'_>, lexer: &mut Lexer<'_>) {
        let line = lexer.line_at(lexeme.at);
        let game = lexer.line_at(lexeme.at + 1 + at);
        let last = lexer.line_at(lexeme.end);
        let why = format!(
            "a comment has another opening brace, and line {game} in it may begin a game: is its end brace missing? \
             Lines {line} to {last} are not read"
        );
        self.fail_at(PgnError::Text(why), line);
    }

    fn word(&mut self, word: &[u8], lexeme: &Lexeme<'_>, lexer: &mut Lexer<'_>) {
        if let Some(outcome) = result(word) {
            self.ended = self.variations.is_empty();
            return self.token(Token::Result(outcome), lexeme, lexer);
        }
        let mut text = word;
        let mut expects_move = std::mem::take(&mut self.expects_move);
        if let Some((number, _, rest)) = move_number(word) {
            text = rest;
            expects_move = true;
            if number != 1 && self.plies == 0 && !self.has_tags && self.variations.is_empty() {
                let why =
                    format!("the moves begin with number {number}, but no tag says from which position");
                self.fail(PgnError::Text(why), lexeme, lexer);
            }
        }
        while let Some(rest) = text.strip_prefix(b".").or_else(|| text.strip_prefix("…".as_bytes())) {
            text = rest;
        }
        if text.is_empty() {
            self.expects_move = expects_move;
            return;
        }
        if self.plies > 0
            && !expects_move
            && let Some(nag) = mark(text)
        {
            return nag.map_or((), |nag| self.token(Token::Nag(nag), lexeme, lexer));
        }
        if !self.variations.is_empty() || self.passed {
            if is_movelike(text) {
                return self.token(Token::Move(text), lexeme, lexer);
            }
            return self.fail(PgnError::Unreadable(shown(text)), lexeme, lexer);
        }
        self.plies += 1;
        if self.decided.is_none() {
            self.play(text, lexeme, lexer);
        }
    }

    fn play(&mut self, text: &[u8], lexeme: &Lexeme<'_>, lexer: &mut Lexer<'_>) {
        match read_san(text, &self.position, &mut self.language) {
            Ok((m, san)) => {
                self.position.play_unchecked(m);
                let flow = self.visitor.play(m, san, &self.position);
                self.decide(flow, lexeme, lexer);
            }
            Err(NoMove::Null) if self.visitor.allows_null_moves() => {
                self.passed = true;
                self.token(Token::Move(text), lexeme, lexer);
            }
            Err(NoMove::Unreadable) if self.plies == 1 && !self.has_tags => {
                let why = format!("no game: \"{}\" is neither a tag nor a move", shown(text));
                self.fail(PgnError::Text(why), lexeme, lexer);
            }
            Err(why) => {
                let dots = self.position.turn().fold_wb(".", "...");
                let named = format!("{}{dots}{}", self.position.fullmoves(), shown(text));
                let error = match why {
                    NoMove::Illegal => PgnError::Illegal(named),
                    NoMove::Unreadable => PgnError::Unreadable(named),
                    NoMove::Null => PgnError::Null(named),
                };
                self.fail(error, lexeme, lexer);
            }
        }
    }

    fn token(&mut self, token: Token<'_>, lexeme: &Lexeme<'_>, lexer: &mut Lexer<'_>) {
        if self.decided.is_none() {
            let flow = self.visitor.token(token, self.variations.len(), &self.position);
            self.decide(flow, lexeme, lexer);
        }
    }

    fn decide(&mut self, flow: ControlFlow<V::Output>, lexeme: &Lexeme<'_>, lexer: &mut Lexer<'_>) {
        if let ControlFlow::Break(output) = flow {
            self.decided = Some((Ok(output), lexer.line_at(lexeme.at)));
        }
    }

    fn fail(&mut self, error: PgnError, lexeme: &Lexeme<'_>, lexer: &mut Lexer<'_>) {
        self.fail_at(error, lexer.line_at(lexeme.at));
    }

    fn fail_at(&mut self, error: PgnError, line: u64) {
        if self.decided.is_none() {
            self.decided = Some((Err(error), line));
        }
    }

    fn finish(mut self, game_line: u64, lexer: &mut Lexer<'_>) -> Option<ReadGame<V::Output>> {
        if !self.has_tags && !self.has_text {
            return None;
        }
        if self.decided.is_none()
            && let Some(line) = self.variations.first()
        {
            self.decided = Some((Err(PgnError::Text("a variation is not closed".into())), *line));
        }
        let (output, line) = match self.decided.take() {
            Some(decided) => decided,
            None => (Ok(self.visitor.end(&self.position)), lexer.line_at(lexer.at)),
        };
        Some(ReadGame { game_line, line, output })
    }
}

struct TagSection {
    tags: Tags,
    line: Option<u64>,
}

/// Reads the tags at the lexer's position; escaped lines, `;` comments and empty lines may stand between them.
fn tag_section(lexer: &mut Lexer<'_>) -> TagSection {
    let mut section = TagSection { tags: Tags::new(), line: None };
    let text = lexer.text;
    let mut at = match lexer.at {
        0 => text.len() - without_byte_order_mark(text).len(),
        at if text[at - 1] == b'\n' => at,
        _ => return section,
    };
    lexer.at = at;
    while at < text.len() {
        let end = line_end(text, at);
        let line = &text[at..end];
        if resembles_tag(line) {
            if section.line.is_none() {
                section.line = Some(lexer.line_at(at));
            }
            let length = read_tags(line, &mut section.tags);
            lexer.at = at + length;
            // After the last tag it is the game's own comment.
            let is_among_tags = || {
                let next = text.get(end + 1..).unwrap_or_default();
                is_remark(&line[length..])
                    && resembles_tag(&next[..memchr(b'\n', next).unwrap_or(next.len())])
            };
            if length < line.len() && !is_among_tags() {
                break;
            }
        } else if !is_blank(line) && !is_aside(line) {
            break;
        }
        at = end + 1;
    }
    section
}

fn result(word: &[u8]) -> Option<Outcome> {
    let decisive = |winner| Some(Outcome::Known(KnownOutcome::Decisive { winner }));
    match word {
        b"*" => return Some(Outcome::Unknown),
        [b'0' | b'1', ..] | [0xc2, 0xbd, ..] => (),
        _ => return None,
    }
    match std::str::from_utf8(word).ok()?.replace(['–', '—'], "-").as_str() {
        "1-0" => decisive(Color::White),
        "0-1" => decisive(Color::Black),
        "1/2-1/2" | "1/2" | "½-½" | "½" => Some(Outcome::Known(KnownOutcome::Draw)),
        _ => None,
    }
}

fn move_number(word: &[u8]) -> Option<(u32, usize, &[u8])> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&word[..digits]).ok()?.parse().ok()?;
    let rest = &word[digits..];
    let dots = rest.iter().take_while(|byte| **byte == b'.').count();
    let dots = if rest.starts_with("…".as_bytes()) { 3 } else { dots };
    // `0-0`, `1/2` and `000` are not move numbers.
    let is_number = matches!(rest, [] | [b'.' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.., ..]);
    (is_number && (number > 0 || dots > 0)).then_some((number, dots, rest))
}

/// Whether a word that need be no move stays the same word when it is written: it does not look like a tag, an escaped
/// line, a move number or a result.
fn is_movelike(word: &[u8]) -> bool {
    let text = text_of(word);
    let is_other = |word: &[u8]| move_number(word).is_some() || result(word).is_some();
    !word.iter().any(|byte| b"[]%\"".contains(byte)) && !is_other(word) && !is_other(text.as_bytes())
}

/// Reads a word that may follow a move: a sign of check, en passant, novelty or evaluation. `None` if it is none of
/// these, `Some(None)` if it is one without a NAG.
fn mark(word: &[u8]) -> Option<Option<u8>> {
    let text = std::str::from_utf8(word).ok()?;
    Some(match text {
        "--" => return None,
        "=" => Some(10),
        "+=" | "+/=" | "⩲" => Some(14),
        "=+" | "=/+" | "⩱" => Some(15),
        "+/-" | "±" => Some(16),
        "-/+" | "∓" => Some(17),
        "+-" => Some(18),
        "-+" => Some(19),
        "∞" | "~" => Some(13),
        "□" => Some(7),
        "N" | "TN" => Some(146),
        "D" => Some(220),
        "ch" | "ch." | "dis" | "dbl" | "mate" | "ep" | "e.p" | "e.p." => None,
        _ if text.chars().all(|c| "+-=#/,<>[]|^†‡→↑↓⇆⇄○⟳⌓⊕⊗∆△▲".contains(c)) => {
            None
        }
        _ => return None,
    })
}

fn shown(word: &[u8]) -> String {
    let text = text_of(word);
    let short: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if short.len() < text.len() { short + "…" } else { short }
}
