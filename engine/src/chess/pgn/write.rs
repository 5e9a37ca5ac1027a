use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use shakmaty::{Color, Outcome, Position};

use super::tags::encoded;
use super::tree::{PgnGame, PgnToken};

/// Longest line of movetext (PGN standard, 8.2.1); comments are not broken.
const COLUMNS: usize = 79;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MoveAdditions {
    /// Left out if the move has this NAG.
    pub nag: Option<u8>,
    /// Goes before all other comments.
    pub comment: Option<String>,
    /// In SAN. Goes after all other variations.
    pub variation: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Name and value; left out if the game has a tag of this name.
    pub tag: Option<(String, String)>,
    /// By ply from 0.
    pub moves: BTreeMap<usize, MoveAdditions>,
}

impl PgnGame {
    /// Ends with an empty line.
    pub fn write(&self, additions: &Additions, out: &mut dyn Write) -> io::Result<()> {
        for (name, value) in &self.tags {
            write_tag(name, value, out)?;
        }
        if let Some((name, value)) = &additions.tag
            && !self.tags.iter().any(|(key, _)| key == name.as_bytes())
        {
            write_tag(name.as_bytes(), &encoded(value), out)?;
        }
        if !self.tags.is_empty() || additions.tag.is_some() {
            out.write_all(b"\n")?;
        }
        let mut movetext = MovetextWriter::new(self);
        movetext.game(self, additions);
        out.write_all(&movetext.text)?;
        out.write_all(b"\n\n")
    }
}

fn write_tag(name: &[u8], value: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&[b"[", name, b" \"", value, b"\"]\n"].concat())
}

struct MovetextWriter {
    text: Vec<u8>,
    column: usize,
    /// Brackets to open with the next word.
    opened: usize,
    first_ply: usize,
    /// Whether Black's next move needs its number.
    interrupted: bool,
}

impl MovetextWriter {
    fn new(game: &PgnGame) -> MovetextWriter {
        let number = u32::from(game.start.position().fullmoves()) as usize;
        let first_ply = 2 * (number - 1) + usize::from(game.start.turn() == Color::Black);
        MovetextWriter { text: Vec::new(), column: 0, opened: 0, first_ply, interrupted: true }
    }

    fn game(&mut self, game: &PgnGame, additions: &Additions) {
        let mut plies = vec![0_usize];
        let mut result = None;
        // Pending additions to the last move: right behind it, and behind everything else.
        let (mut behind_move, mut behind_all): (Option<&MoveAdditions>, _) = (None, None);
        let mut nags = Vec::new();
        for token in &game.tokens {
            let in_game = plies.len() == 1;
            if !matches!(token, PgnToken::Nag(_)) {
                self.behind_move(behind_move.take(), &nags);
                nags.clear();
            }
            let ply = plies.last_mut().expect("the game's own");
            match token {
                PgnToken::Move(san) => {
                    if in_game {
                        self.variation(behind_all.take(), ply.saturating_sub(1));
                        (behind_move, behind_all) = (additions.moves.get(ply), additions.moves.get(ply));
                    }
                    self.san(*ply, &san.to_string());
                    *ply += 1;
                }
                PgnToken::Word(word) => {
                    self.text_of_ply(*ply, word);
                    *ply += 1;
                }
                PgnToken::Nag(nag) => {
                    nags.push(*nag);
                    self.word(format!("${nag}").as_bytes());
                }
                PgnToken::Comment(comment) => self.comment(comment),
                PgnToken::Begin => {
                    let before = ply.saturating_sub(1);
                    plies.push(before);
                    self.open();
                }
                PgnToken::End => {
                    plies.pop();
                    self.close();
                }
                PgnToken::Result(outcome) if in_game => result = Some(*outcome),
                PgnToken::Result(outcome) => self.word(outcome.as_str().as_bytes()),
            }
        }
        self.behind_move(behind_move, &nags);
        self.variation(behind_all, plies[0].saturating_sub(1));
        let written = game.tag("Result").filter(|tag| ["1-0", "0-1", "1/2-1/2"].contains(&tag.as_str()));
        let result = result.map(|outcome: Outcome| outcome.to_string()).or(written);
        self.word(result.as_deref().unwrap_or("*").as_bytes());
    }

    fn behind_move(&mut self, additions: Option<&MoveAdditions>, nags: &[u8]) {
        let Some(additions) = additions else { return };
        if let Some(nag) = additions.nag
            && !nags.contains(&nag)
        {
            self.word(format!("${nag}").as_bytes());
        }
        if let Some(comment) = &additions.comment {
            self.comment(format!(" {comment} ").as_bytes());
        }
    }

    /// Writes the added variation, which begins in place of the move at `ply`.
    fn variation(&mut self, additions: Option<&MoveAdditions>, ply: usize) {
        let Some(additions) = additions.filter(|additions| !additions.variation.is_empty()) else { return };
        self.open();
        for (san, ply) in additions.variation.iter().zip(ply..) {
            self.san(ply, san);
        }
        self.close();
    }

    fn san(&mut self, ply: usize, san: &str) {
        self.text_of_ply(ply, san.as_bytes());
    }

    fn text_of_ply(&mut self, ply: usize, san: &[u8]) {
        let ply = self.first_ply + ply;
        let number = ply / 2 + 1;
        if ply.is_multiple_of(2) {
            self.word(format!("{number}.").as_bytes());
        } else if self.interrupted {
            self.word(format!("{number}...").as_bytes());
        }
        self.word(san);
        self.interrupted = false;
    }

    fn comment(&mut self, comment: &[u8]) {
        self.word(&[b"{", &*in_braces(comment), b"}"].concat());
        self.interrupted = true;
    }

    fn open(&mut self) {
        self.opened += 1;
        self.interrupted = true;
    }

    fn close(&mut self) {
        if self.opened > 0 {
            self.word(b"");
        }
        self.text.push(b')');
        self.column += 1;
        self.interrupted = true;
    }

    /// Keeps a word and its opening brackets on one line.
    fn word(&mut self, word: &[u8]) {
        let word = &[&b"(".repeat(std::mem::take(&mut self.opened)), word].concat();
        // A column is left for a closing bracket.
        if self.column > 0 && self.column + 1 + word.len() >= COLUMNS {
            self.text.push(b'\n');
            self.column = 0;
        } else if self.column > 0 {
            self.text.push(b' ');
            self.column += 1;
        }
        self.text.extend_from_slice(word);
        match word.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => self.column = word.len() - newline - 1,
            None => self.column += word.len(),
        }
    }
}

/// Replaces a comment's braces by brackets unless they are balanced, as those of a `;` comment need not be.
fn in_braces(comment: &[u8]) -> Cow<'_, [u8]> {
    let mut depth = 0_i32;
    let is_sound = comment.iter().all(|byte| {
        depth += i32::from(*byte == b'{') - i32::from(*byte == b'}');
        depth >= 0
    });
    if is_sound && depth == 0 {
        return Cow::Borrowed(comment);
    }
    let bracket = |byte: &u8| match byte {
        b'{' => b'(',
        b'}' => b')',
        other => *other,
    };
    Cow::Owned(comment.iter().map(bracket).collect())
}

#[cfg(test)]
mod tests {
    use super::super::read_games;
    use super::*;

    const GAME: &str = "[Event \"a \\\"b\\\"\"]\n[Result \"1-0\"]\n\n{ before } 1. e4 $14 {first} {second} (1. d4 d5 \
        (1... Nf6 {Indian})\n2. c4 $1 (2. Nf3)) 1... e5 2. Nf3 Nc6 {a\nb} 3. Bb5 1-0\n\n";

    fn written(game: &str, additions: &Additions) -> String {
        let (games, broken) = read_games(game.as_bytes());
        assert!(broken.is_empty(), "{broken:?}");
        let mut out = Vec::new();
        games.iter().for_each(|(_, game)| game.write(additions, &mut out).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_game_reads_back_as_it_was() {
        let tokens = |text: &str| -> Vec<_> {
            read_games(text.as_bytes()).0.into_iter().map(|(_, game)| (game.tags, game.tokens)).collect()
        };
        let black_first =
            "[FEN \"4k3/8/8/8/8/8/8/R3K3 b Q - 3 40\"]\n\nKd8 41. O-O-O+ (41. Ra8+) 41... Ke8 *\n\n";
        let long = format!("1. e4 {{{}}} e5 {{x}} {}*\n\n", "long ".repeat(60), "2. Nf3 (2. Nc3 Nf6) ");
        for game in [GAME, black_first, &long, "[Event \"no moves\"]\n\n*\n\n"] {
            let again = written(game, &Additions::default());
            assert_eq!(tokens(&again), tokens(game), "{again}");
            assert_eq!(written(&again, &Additions::default()), again);
        }
        assert!(
            written(black_first, &Additions::default()).contains("40... Kd8 41. O-O-O+ (41. Ra8+) 41... Ke8")
        );
        // A missing result is the tag's.
        assert!(written("[Result \"0-1\"]\n\n1. e4", &Additions::default()).ends_with("1. e4 0-1\n\n"));
        let narrow = written(GAME, &Additions::default());
        assert!(narrow.lines().all(|line| line.len() <= COLUMNS), "{narrow}");
    }

    #[test]
    fn additions_stand_where_readers_expect_them() {
        let add = |nag, comment: &str, variation: &[&str]| MoveAdditions {
            nag,
            comment: Some(comment.to_owned()).filter(|comment| !comment.is_empty()),
            variation: variation.iter().map(|san| (*san).to_owned()).collect(),
        };
        let moves = [
            (0, add(Some(6), "[%eval 0.10]", &["c4", "e5"])),
            (1, add(Some(4), "", &["c5", "Nf3"])),
            (4, add(Some(1), "[%eval 0.20] Good.", &["Bc4"])),
        ];
        let tag = Some(("Annotator".to_owned(), "a \"b\"".to_owned()));
        let text = written(GAME, &Additions { tag: tag.clone(), moves: moves.into_iter().collect() });
        let expected = "[Event \"a \\\"b\\\"\"]\n[Result \"1-0\"]\n[Annotator \"a \\\"b\\\"\"]\n\n\
            {before} 1. e4 $14 $6 {[%eval 0.10]} {first} {second} (1. d4 d5 (1... Nf6 {Indian}) 2. c4 $1 (2. Nf3)) \
            (1. c4 e5) 1... e5 $4 (1... c5 2. Nf3) 2. Nf3 Nc6 {a b} 3. Bb5 $1 {[%eval 0.20] Good.} (3. Bc4) 1-0";
        let tidy = text.replace("{ ", "{").replace(" }", "}");
        let tags = expected.find("{before").unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(tidy[..tags], expected[..tags]);
        assert_eq!(words(&tidy[tags..]), words(&expected[tags..]));
        // What is there already is not added.
        let same = written(
            "[Annotator \"x\"]\n\n1. e4 $6 *",
            &Additions { tag, moves: [(0, add(Some(6), "", &[]))].into_iter().collect() },
        );
        assert_eq!(same, "[Annotator \"x\"]\n\n1. e4 $6 *\n\n");
    }
}
