use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
use shakmaty::Position;

use super::{MoveTree, NodeId, PgnGame, Step, game_starts, read_games, unix_lines};
use crate::chess::position::Game;

fn moves(game: &PgnGame) -> String {
    game.moves().iter().map(|m| Game::uci(*m, false)).collect::<Vec<_>>().join(" ")
}

/// Returns each game's moves or error, in the order of the text.
fn read(text: &str) -> Vec<String> {
    let (games, broken) = read_games(text.as_bytes());
    let mut all: Vec<(usize, String)> = games.iter().map(|(number, game)| (*number, moves(game))).collect();
    all.extend(broken.iter().map(|broken| (broken.game, format!("{}: {}", broken.line, broken.why))));
    all.sort();
    all.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_word_that_is_no_move_is_never_dropped() {
    for (text, expected) in [
        ("1. e4 e5 2. nf3 nc6 3. Bb5 a6 1-0", "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6"),
        ("1. e4 e5 2. Cf3 Nc6 1-0", "1: unreadable move 2.Cf3"),
        ("1. e4 e5\n2. Nf3 xyzzy 3. Bb5 1-0", "2: unreadable move 2...xyzzy"),
        ("1. e4 e5 2. Sf3 Sc6 3. Lb5 1-0", "e2e4 e7e5 g1f3 b8c6 f1b5"),
        ("1. e4 e5 2. Sf3 Nc6 1-0", "1: unreadable move 2...Nc6"),
        ("1. e4 e5 2. ♘f3 ♞c6 1-0", "e2e4 e7e5 g1f3 b8c6"),
        ("1. e4 e5 2. Qh5 Nc6 3. Qxf7++ 1-0", "e2e4 e7e5 d1h5 b8c6 h5f7"),
        ("1. e4 e5 2. Qh5 + Nc6 3. Qxf7 mate 1-0", "e2e4 e7e5 d1h5 b8c6 h5f7"),
        ("1. e2-e4 e7-e5 2. Ng1-f3 Nb8xc6", "e2e4 e7e5 g1f3 b8c6"),
        ("1. e4 d5 2. e4xd5 c5 3. d5xc6e.p. o-o", "1: illegal or ambiguous move 3...o-o"),
        ("1. e4 d5 2. e5 f5 3. exf6ep *", "e2e4 d7d5 e4e5 f7f5 e5f6"),
        ("1.e4 e5 2.Nf3 Nf6 3.Be2 Be7 4.0-0 0-0 5.d3 ½-½", "e2e4 e7e5 g1f3 g8f6 f1e2 f8e7 e1g1 e8g8 d2d3"),
        ("1. e4 = e5 +- 2. f4 N ± 2... exf4 1-0", "e2e4 e7e5 f2f4 e5f4"),
        ("1.e4, e5; best\n 2.Nf3 1-0", "e2e4 e7e5 g1f3"),
        ("1. e4 e5 2. a4 a5 3. [%clk 0:01] b4", "1: unreadable move 3.[%clk"),
    ] {
        assert_eq!(read(text), [expected], "{text}");
    }
    let promotions = "[FEN \"1r5k/P7/8/8/8/8/p7/1R5K w - - 0 1\"]\n\n";
    assert_eq!(read(&format!("{promotions}1. axb8N axb1q *")), ["a7b8n a2b1q"]);
    assert_eq!(read(&format!("{promotions}1. a7b8n a2xb1/Q+ *")), ["a7b8n a2b1q"]);
    assert_eq!(read(&format!("{promotions}1. a8Q 1-0")), ["a7a8q"]);
    assert_eq!(read(&format!("{promotions}1. a8 1-0")), ["3: illegal or ambiguous move 1.a8"]);
}

#[test]
fn games_end_where_they_do() {
    let one = ["e2e4 e7e5", "d2d4 d7d5"];
    for text in [
        "1. e4 e5 1-0\n1. d4 d5 0-1\n",
        "1. e4 e5 1-0 1. d4 d5 0-1",
        "1. e4 e5\n1. d4 d5\n",
        "1. e4 e5\n\n1. d4 d5\n",
        "e4 e5\n\nd4 d5",
        "[White \"a\"]\n1. e4 e5 *\n[White \"b\"]\n1. d4 d5 *\n",
        "[White \"a\"]\r\r1. e4 e5 *\r\r[White \"b\"]\r\r1. d4 d5 *\r",
        "[White \"a\"]\r\n\r\n1. e4 e5 *\r\n\r\n[White \"b\"]\r\n\r\n1. d4 d5 *\r\n",
        "[White \"a\"] [Black \"b\"] 1. e4 e5 * {the end}\n\n{the next} 1. d4 d5 *\n",
        "[White \"a\"]\n\n1. e4\n\n1... e5\n\n*\n\n1. d4 d5",
        "1. e4\n\n1... e5 {a\n\nb}\n\n2. -- *\n\n1. d4 d5",
    ] {
        assert_eq!(read(text), one, "{text:?}");
    }
    assert_eq!(
        read("1. e4 e5 1-0 2. Nf3 *")[1],
        "1: the moves begin with number 2, but no tag says from which position"
    );
    assert_eq!(read("{only a comment}\n\n; and another\n"), [""; 0]);
    assert_eq!(read("%PDF-1.7\n%\r\n<x>"), ["3: no game: \"<x>\" is neither a tag nor a move"]);
    assert_eq!(read("*\n\n*"), ["", ""]);
    // Games with tags may have any numbers.
    assert_eq!(read("[White \"a\"]\n\n1. e4 e5\n1. d4 d5 *\n"), ["e2e4 e7e5 d2d4 d7d5"]);
    assert_eq!(read("1. e4 e5 N 2. N"), ["1: unreadable move 2.N"]);
}

#[test]
fn what_is_not_closed_is_named_with_its_line() {
    let next = "\n\n[Event \"b\"]\n\n1. d4 {x} *\n";
    assert_eq!(
        read(&format!("[Event \"a\"]\n\n1. e4\n(1. c4 c5 1-0{next}")),
        ["4: a variation is not closed", "d2d4"]
    );
    assert_eq!(
        read(&format!("[Event \"a\"]\n\n1. e4 e5\n2. Nf3 {{no end{next}")),
        ["4: a comment is not closed", "d2d4"]
    );
    let lines = ["4: a comment is not closed: lines 4 to 7 are not read", "c2c4"];
    let lost = "1. e4 e5\n2. Nf3 {no end\n\n1. d4 d5\n2. c4\n\n";
    assert_eq!(read(&format!("[Event \"a\"]\n{lost}[Event \"b\"]\n\n1. c4 *\n"))[1..], lines[1..]);
    assert_eq!(read(&format!("[Event \"a\"]\n\n{lost}[Event \"b\"]\n\n1. c4 *\n")), lines);
    let doubtful = "a comment has another opening brace, and line 4 in it may begin a game: is its end brace missing? Lines \
                    1 to 4 are not read";
    assert_eq!(
        read("1. e4 {no end\ne5\n\n1. d4 {x} d5 *\n\n1. c4 *"),
        [format!("1: {doubtful}").as_str(), "c2c4"]
    );
    assert_eq!(read("1. e4 {no end e5 *\n1. d4 d5 {x} *"), ["1: a comment is not closed", "d2d4 d7d5"]);
    let unclosed = read("1. e4 {see {this\n\n[Event \"x\"]\n\n1. d4 *} e5 *");
    assert!(unclosed[0].starts_with("1: a comment has"), "{unclosed:?}");
    assert_eq!(read("1. e4 (1. c4\n\n1. d4 *"), ["1: a variation is not closed", "d2d4"]);
    assert_eq!(read("1. e4 ) e5 } 2. Nf3 *"), ["e2e4 e7e5 g1f3"]);
}

#[test]
fn lines_among_tags_and_tags_in_comments_change_nothing() {
    let (games, _) = read_games(
        b"% escaped\n[White \"a\"]\n; a comment\n[Black \"b\"]\n% [Event \"no\"]\n\n[Result \"*\"]\n\n1. e4 {see\n[Event \
          \"x\"]\n\n[Site \"y\"]\n} e5\n% 1... c5\n*\n",
    );
    let [(1, game)] = games.as_slice() else { panic!("{games:?}") };
    assert_eq!((game.tags.len(), moves(game).as_str()), (3, "e2e4 e7e5"));
}

#[test]
fn indented_tags_are_tags() {
    let (games, broken) = read_games(
        b"[White \"a\"]\n\n1. e4 *\n\n [White \"b\"]\n\t[Result \"0-1\"]\n ; c\n  1. d4 0-1\n[White \"c\"]\n\n1. c4 *",
    );
    let white: Vec<_> = games.iter().map(|(_, game)| (game.tag("White").unwrap(), moves(game))).collect();
    let expected = [("a", "e2e4"), ("b", "d2d4"), ("c", "c2c4")];
    assert_eq!(white, expected.map(|(white, moves)| (white.to_owned(), moves.to_owned())));
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn null_moves_end_what_is_played_and_stay_in_the_text() {
    let text = "1. e4 e5 (1... -- 2. d4 Z0 3. xyz) 2. -- {a plan} Nf6 3. foo Nc3 *\n\n";
    let (games, broken) = read_games(text.as_bytes());
    assert!(broken.is_empty(), "{broken:?}");
    let game = &games[0].1;
    assert_eq!(moves(game), "e2e4 e7e5");
    let expected = "1. e4 e5 (1... -- 2. d4 -- 3. xyz) 2. -- {a plan} 2... Nf6 3. foo 3... Nc3 *\n\n";
    assert_eq!(text_of(game), expected);
    let nf6 = game.tree.main_line().nth(3).unwrap();
    let fen = "rnbqkb1r/pppp1ppp/5n2/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 2 3";
    assert_eq!(game.tree.game_at(nf6).unwrap().fen(), fen);
    assert!(game.tree.game_at(game.tree.first_child(nf6).unwrap()).is_none(), "foo");
}

#[test]
fn many_games_without_tags_take_no_longer_than_their_text() {
    let game = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 1-0\n";
    for between in ["", "\n"] {
        let text = format!("{game}{between}").repeat(20_000);
        let (games, broken) = read_games(text.as_bytes());
        assert_eq!((games.len(), broken.len()), (20_000, 0));
        let lines = 1 + between.len() as u64;
        assert!(games.iter().zip(0..).all(|((_, game), index)| game.line == 1 + index * lines));
    }
    // A comment with many braces and lines like tags.
    let text = format!("1. e4 {{{}", "{ \n\n[Event \"x\"] ".repeat(50_000));
    assert!(!read_games(text.as_bytes()).1.is_empty());
}

fn text_of(game: &PgnGame) -> String {
    let mut written = Vec::new();
    game.write(&mut written).unwrap();
    String::from_utf8(written).unwrap()
}

/// What is written is read as an equal game, and written again as the same text.
fn is_read_back(game: &PgnGame) -> Result<(), String> {
    let text = text_of(game);
    let (again, broken) = read_games(text.as_bytes());
    match again.as_slice() {
        [(1, again)] if broken.is_empty() => {
            let is_same = again.tree == game.tree && again.outcome() == game.outcome();
            (is_same && text_of(again) == text)
                .then_some(())
                .ok_or_else(|| format!("{text:?}\n{:?}", text_of(again)))
        }
        _ => Err(format!("{broken:?} in {text:?}")),
    }
}

#[test]
fn the_suites_games_are_read_back() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let own = [("trees.pgn", 8), ("pgn_reports.pgn", 19), ("review.pgn", 3)];
    let own = own.map(|(file, games)| (format!("{root}/tests/data/{file}").into(), games));
    // Not everybody has the collection of odd files.
    let suites = ["chess-library", "nibbler", "python-chess"]
        .map(|name| format!("{root}/../shared/suites/pgn/{name}"));
    let files = suites.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let shared = files.map(|file| (file.unwrap().path(), 0));
    for (file, games) in own.into_iter().chain(shared) {
        let (read, _) = read_games(&std::fs::read(&file).unwrap());
        assert!(read.len() >= games, "{}: {}", file.display(), read.len());
        for (number, game) in &read {
            is_read_back(game).unwrap_or_else(|why| panic!("{}, game {number}: {why}", file.display()));
        }
    }
}

/// What a person does to a tree: each number chooses a node, an operation and its argument.
fn grown(start: Game, deeds: &[(u16, u8, u16)]) -> PgnGame {
    let fen = start.fen();
    let tags = (!start.start().initial).then_some(("FEN", fen));
    let mut game = PgnGame::from_moves(tags, start, [], |_| None, shakmaty::Outcome::Unknown);
    let tree = &mut game.tree;
    for (which, deed, argument) in deeds {
        let nodes: Vec<NodeId> = [MoveTree::ROOT].into_iter().chain(tree.walk()).collect();
        // Mostly the last ones, so that lines grow long.
        let back = usize::from(*which) % nodes.len().min(if which % 3 == 0 { usize::MAX } else { 4 });
        let node = nodes[nodes.len() - 1 - back];
        let comments =
            ["plain", "[%clk 0:01:00]", " {a} \r\n ; b\n\n[Event \"x\"]\n\n% c ", "}", "1. e4 (x)", ""];
        match deed % 16 {
            0..8 => {
                let now = tree.game_at(node).expect("no unread words");
                let legal = now.legal_moves();
                if let Some(m) = legal.get(usize::from(*argument) % legal.len().max(1)) {
                    tree.play(node, Step::Move(*m));
                } else if Step::Null.played(now.position()).is_some() {
                    tree.play(node, Step::Null);
                }
            }
            8 => {
                let now = tree.game_at(node).expect("no unread words");
                if Step::Null.played(now.position()).is_some() {
                    tree.play(node, Step::Null);
                }
            }
            9 => _ = tree.promote(node),
            10 => _ = tree.demote(node),
            11 => _ = tree.make_main(node),
            12 if argument % 4 == 0 => tree.delete(node),
            13 if node != MoveTree::ROOT => tree.add_nag(node, *argument as u8),
            14 => tree.set_command(node, "csl", Some("Re4,Gd5")),
            _ => tree.add_comment(node, comments[usize::from(*argument) % comments.len()]),
        }
    }
    game
}

#[test]
fn great_trees_are_neither_slow_nor_too_deep() {
    let knights = ["Nf3 Nf6 Ng1 Ng8 "; 2500].concat();
    let deep = knights.split_ascii_whitespace().map(|word| format!("{word} ")).collect::<String>();
    // 10,000 variations inside each other, 5,000 beside each other, and 10,000 plies.
    let nested = format!("{}{} *", "Nf3 (Nh3 Nf6 (Nh6 Ng1 Ng8 ".repeat(5_000), "))".repeat(5_000));
    let beside = format!("1. e4 {} e5 *", "(1. d4 d5 {x}) ".repeat(5_000));
    for text in [format!("{deep}*"), nested, beside] {
        let (games, broken) = read_games(text.as_bytes());
        assert!(broken.is_empty(), "{broken:?}");
        let (_, mut game) = games.into_iter().next().unwrap();
        assert!(game.tree.walk().count() >= 10_000);
        is_read_back(&game).unwrap();
        let last = game.tree.walk().last().unwrap();
        game.tree.make_main(last);
        assert!(game.tree.main_line().any(|node| node == last));
        let first = game.tree.first_child(MoveTree::ROOT).unwrap();
        game.tree.delete(first);
        is_read_back(&game).unwrap();
    }
}

#[test]
fn words_that_are_no_moves_are_a_comment_where_they_would_be_the_game() {
    let mut game = read_games(b"1. e4 e5 (1... xyz {x} 2. foo) 2. Nf3 (2. -- e6 3. xyz) *").0.remove(0).1;
    let words = game.tree.walk().find(|node| matches!(game.tree.step(*node), Some(Step::Unread(_)))).unwrap();
    assert_eq!(game.tree.game_at(words).map(|game| game.fen()), None);
    game.tree.make_main(words);
    is_read_back(&game).unwrap();
    assert!(text_of(&game).contains("xyz"), "{}", text_of(&game));
    let mut game = read_games(b"1. e4 e5 (1... xyz {x} 2. foo) *").0.remove(0).1;
    let words = game.tree.walk().find(|node| matches!(game.tree.step(*node), Some(Step::Unread(_)))).unwrap();
    game.tree.promote(words);
    assert_eq!(text_of(&game), "1. e4 {xyz x foo} 1... e5 *\n\n");
    let odd = &read_games(b"(1. xyz) *").0[0].1;
    assert_eq!(text_of(odd), "{xyz} *\n\n");
}

#[test]
fn lines_are_promoted_demoted_and_deleted() {
    let text = "1. e4 ({best} 1. d4 d5 (1... Nf6)) (1. c4) 1... e5 *\n\n";
    let game = || read_games(text.as_bytes()).0.remove(0).1;
    let find = |tree: &MoveTree, san: &str| {
        let position = |node| tree.game_at(tree.parent(node).unwrap()).unwrap();
        tree.walk()
            .find(|node| tree.step(*node).unwrap().text(Some(position(*node).position())) == san)
            .unwrap()
    };
    let after = |deed: &dyn Fn(&mut MoveTree)| {
        let mut game = game();
        deed(&mut game.tree);
        is_read_back(&game).unwrap();
        text_of(&game).trim_end().to_owned()
    };
    let deed = |san: &'static str, deed: fn(&mut MoveTree, NodeId)| {
        after(&move |tree: &mut MoveTree| {
            let node = find(tree, san);
            deed(tree, node);
        })
    };
    assert_eq!(
        deed("d4", |tree, node| _ = tree.promote(node)),
        "1. d4 {best} (1. e4 e5) (1. c4) 1... d5 (1... Nf6) *",
        "a comment before a variation stays, after its first move"
    );
    assert_eq!(
        deed("d5", |tree, node| _ = tree.promote(node)),
        deed("d4", |tree, node| _ = tree.promote(node))
    );
    assert_eq!(
        deed("Nf6", |tree, node| _ = tree.make_main(node)),
        "1. d4 {best} (1. e4 e5) (1. c4) 1... Nf6 (1... d5) *"
    );
    assert_eq!(
        deed("e5", |tree, node| _ = tree.demote(node)),
        "1. d4 {best} (1. e4 e5) (1. c4) 1... d5 (1... Nf6) *"
    );
    assert_eq!(deed("e4", |tree, node| tree.delete(node)), "1. d4 {best} (1. c4) 1... d5 (1... Nf6) *");
    assert_eq!(deed("c4", |tree, node| tree.delete(node)), "1. e4 ({best} 1. d4 d5 (1... Nf6)) 1... e5 *");
    let mut game = game();
    let (e4, c4) = (find(&game.tree, "e4"), find(&game.tree, "c4"));
    let Some(step) = game.tree.step(c4).cloned() else { panic!() };
    assert_eq!(game.tree.play(MoveTree::ROOT, step), c4, "a known move is entered");
    assert!(!game.tree.promote(e4) && !game.tree.make_main(e4) && !game.tree.demote(c4));
    game.tree.delete(c4);
    let node = |index| game.tree.node(index);
    assert_eq!(
        (node(e4.index()), node(c4.index()), node(99)),
        (Some(e4), None, None),
        "deleted and unknown ones"
    );
}

/// The pieces of texts like PGN.
fn piece() -> impl Strategy<Value = String> {
    let words = "1. 1... 2. e4 e5 Nf3 nf3 Sf3 d4 d5 exd5 O-O 0-0-0 a8=Q bxa8N -- $1 ! ?? * 1-0 1/2-1/2 ( ) { } ; % \n \n\n \r \
         [Event_\"x\"]\n [FEN_\"4k3/8/8/8/8/8/8/R3K2R_w_KQ_-_0_1\"]\n\n [Variant_\"Chess960\"]\n [ \" ] \\ \u{feff} ♘f3 … N ep xyz";
    let words: Vec<String> = words.split(' ').map(|word| word.replace('_', " ")).collect();
    prop_oneof![
        8 => (0..words.len()).prop_map(move |index| words[index].clone()),
        1 => any::<char>().prop_map(String::from),
        1 => Just(" ".to_owned()),
    ]
}

/// Every game has legal moves, a line within the text, and reads the same when it is written and read again.
fn check(text: &[u8]) -> Result<(), proptest::test_runner::TestCaseError> {
    let (games, broken) = read_games(text);
    let lines = 1 + unix_lines(text).iter().filter(|byte| **byte == b'\n').count() as u64;
    for broken in &broken {
        prop_assert!((1..=lines).contains(&broken.line), "{broken} of {lines}");
    }
    for (number, game) in &games {
        prop_assert!((1..=lines).contains(&game.line) && *number <= games.len() + broken.len());
        let mut position = game.start().position().clone();
        for m in game.moves() {
            prop_assert!(position.is_legal(m));
            position.play_unchecked(m);
        }
        is_read_back(game).map_err(proptest::test_runner::TestCaseError::fail)?;
    }
    prop_assert!(game_starts(text).is_sorted());
    Ok(())
}

proptest! {
    #[test]
    fn trees_are_read_back(start in 0_usize..4, deeds in vec(any::<(u16, u8, u16)>(), 0..120)) {
        let starts = [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/1P6/8/3p4/2P1P3/1B6/8/R3K2R b KQkq - 3 40",
            "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w HFhf - 0 1",
            "4k3/8/8/8/8/8/5q2/7K w - - 0 1",
        ];
        let game = grown(Game::from_fen(starts[start]).unwrap(), &deeds);
        is_read_back(&game).map_err(proptest::test_runner::TestCaseError::fail)?;
    }

    #[test]
    fn texts_like_pgn_are_read_or_refused(pieces in vec(piece(), 0..120), blanks in any::<bool>()) {
        check(pieces.join(if blanks { " " } else { "" }).as_bytes())?;
    }

    #[test]
    fn damaged_games_are_read_or_refused(at in vec((0_usize..400, any::<u8>()), 1..6)) {
        let mut text = b"[Event \"a \\\"b\\\"\"]\n[FEN \"r3k2r/1P6/8/3p4/2P1P3/1B6/8/R3K2R w KQkq - 0 1\"]\n\n{x} 1. cxd5 $1 \
            {first} (1. bxa8=N O-O (1... Ke7 2. Rf1) 2. O-O) 1... O-O-O! 2. O-O {[%eval 1.0]} Rd6 3. b8=Q+ 1-0\n\n\
            [Event \"2\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6 *\n\n1. d4 d5 0-1\n1. c4 *\n".to_vec();
        for (at, byte) in at {
            let at = at % text.len();
            match byte {
                0..80 => drop(text.remove(at)),
                80..160 => text.insert(at, byte),
                _ => text[at] = byte,
            }
        }
        check(&text)?;
    }
}
