use std::io::{self, Write};

use shakmaty::{Chess, Color, Position};

use super::game::PgnGame;
use super::tags::text_of;
use super::tree::{MoveTree, NodeId, Step};

/// Longest line of movetext (PGN standard, 8.2.1); comments are not broken.
const COLUMNS: usize = 79;

impl PgnGame {
    /// In UTF-8. Ends with an empty line.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (name, value) in &self.tags {
            writeln!(out, "[{} \"{}\"]", text_of(name), text_of(value))?;
        }
        if !self.tags.is_empty() {
            out.write_all(b"\n")?;
        }
        let mut movetext = MovetextWriter::new(&self.tree);
        movetext.tree(&self.tree);
        movetext.word(self.outcome().as_str().as_bytes());
        out.write_all(&movetext.text)?;
        out.write_all(b"\n\n")
    }
}

/// What is left to write, last first: a stack, because trees may be deep.
enum Task {
    /// A move and what follows it in its line.
    Line {
        node: NodeId,
        before: Option<Chess>,
        ply: usize,
        is_variation: bool,
    },
    Close,
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
    fn new(tree: &MoveTree) -> MovetextWriter {
        let number = u32::from(tree.start().position().fullmoves()) as usize;
        let first_ply = 2 * (number - 1) + usize::from(tree.start().turn() == Color::Black);
        MovetextWriter { text: Vec::new(), column: 0, opened: 0, first_ply, interrupted: true }
    }

    fn tree(&mut self, tree: &MoveTree) {
        tree.notes(MoveTree::ROOT).comments.iter().for_each(|comment| self.comment(comment));
        let main = |node| {
            let before = Some(tree.start().position().clone());
            Task::Line { node, before, ply: 0, is_variation: false }
        };
        let mut tasks: Vec<Task> = tree.first_child(MoveTree::ROOT).map(main).into_iter().collect();
        while let Some(task) = tasks.pop() {
            let Task::Line { node, before, ply, is_variation } = task else {
                self.close();
                continue;
            };
            if is_variation {
                self.open();
            }
            self.step(tree, node, before.as_ref(), ply);
            let step = tree.step(node).expect("the root has no line");
            let after = before.as_ref().and_then(|before| step.played(before));
            if let Some(node) = tree.first_child(node) {
                tasks.push(Task::Line { node, before: after, ply: ply + 1, is_variation: false });
            }
            // Variations stand behind the move in whose place they are.
            let variations = std::iter::successors(tree.next_sibling(node), |node| tree.next_sibling(*node));
            let first_of_them = tasks.len();
            for node in variations.filter(|_| !is_variation) {
                tasks.push(Task::Line { node, before: before.clone(), ply, is_variation: true });
                tasks.push(Task::Close);
            }
            tasks[first_of_them..].reverse();
        }
    }

    fn step(&mut self, tree: &MoveTree, node: NodeId, before: Option<&Chess>, ply: usize) {
        let (step, notes) = (tree.step(node).expect("the root is no move"), tree.notes(node));
        notes.before.iter().for_each(|comment| self.comment(comment));
        // Without its number, an unread word might be read as a sign of evaluation.
        self.interrupted |= matches!(step, Step::Unread(_));
        self.text_of_ply(ply, step.text(before).as_bytes());
        notes.nags.iter().for_each(|nag| self.word(format!("${nag}").as_bytes()));
        notes.comments.iter().for_each(|comment| self.comment(comment));
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

    fn comment(&mut self, comment: &str) {
        self.word(format!("{{{comment}}}").as_bytes());
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

#[cfg(test)]
mod tests {
    use super::super::read_games;
    use super::*;

    fn written(games: &str) -> String {
        let (games, broken) = read_games(games.as_bytes());
        assert!(broken.is_empty(), "{broken:?}");
        let mut out = Vec::new();
        games.iter().for_each(|(_, game)| game.write(&mut out).unwrap());
        String::from_utf8(out).unwrap()
    }

    /// Comments are chosen so that their lines look like other parts of a file.
    #[test]
    fn any_comment_is_read_back() {
        let parts =
            ["[Event \"x\"]", "[White \"y\"]", "", "% z", "; w", "1-0", "1. d4 *", "(", "a { b", "} c"];
        let some = (0..parts.len().pow(3)).map(|n| [n % 10, n / 10 % 10, n / 100].map(|part| parts[part]));
        for lines in some.map(|[a, b, c]| [b, "", a, c, "", b]) {
            let (mut games, _) =
                read_games(b"[Event \"a\"]\n\n1. e4 e5 {z} 1-0\n\n[Event \"b\"]\n\n1. d4 {q} *\n");
            let (first, comment) = (&mut games[0].1, lines.join("\n"));
            let node = first.tree.main_line().next().unwrap();
            first.tree.add_comment(node, &comment);
            let kept = first.tree.notes(node).comments.clone();
            let mut text = Vec::new();
            games.iter().for_each(|(_, game)| game.write(&mut text).unwrap());
            let (read, broken) = read_games(&text);
            assert!(broken.is_empty() && read.len() == 2, "{comment}: {broken:?}");
            let tree = &read[0].1.tree;
            assert_eq!(tree.notes(tree.main_line().next().unwrap()).comments, kept);
        }
    }

    #[test]
    fn a_game_is_written_as_it_was() {
        let game = "[Event \"a \\\"b\\\"\"]\n[Result \"1-0\"]\n\n{before} 1. e4 $14 {first} {second} (1. d4 d5 (1... Nf6 \
            {Indian}) 2. c4 $1 (2.\nNf3)) 1... e5 2. Nf3 ({not} 2. Nc3) 2... Nc6 {a\nb} 3. Bb5 1-0\n\n";
        let black_first =
            "[FEN \"4k3/8/8/8/8/8/8/R3K3 b Q - 3 40\"]\n\n40... Kd8 41. O-O-O+ (41. Ra8+) 41... Ke8 *\n\n";
        for game in [game, black_first, "[Event \"no moves\"]\n\n*\n\n"] {
            assert_eq!(written(game), game);
        }
        let long = format!("1. e4 {{{}}} e5 {{x}} {}*\n\n", "long ".repeat(60), "2. Nf3 (2. Nc3 Nf6) ");
        let narrow = written(&long);
        assert_eq!(written(&narrow), narrow);
        assert!(narrow.lines().all(|line| line.starts_with('{') || line.len() <= COLUMNS), "{narrow}");
        // A missing result is the tag's.
        assert!(written("[Result \"0-1\"]\n\n1. e4").ends_with("1. e4 0-1\n\n"));
        // Old files are Latin-1; what is written is UTF-8.
        let (games, _) = read_games(b"[White \"M\xfcller\"]\n\n1. e4 {sch\xf6n} *");
        let mut out = Vec::new();
        games[0].1.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "[White \"Müller\"]\n\n1. e4 {schön} *\n\n");
    }
}
