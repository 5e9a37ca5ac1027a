//! Protocol tests of other engines, from `tests/data/uci` (each file names its source).

use crate::program::Program;

fn cases(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn shown_fen(engine: &mut Program) -> String {
    let lines = engine.answer("d");
    let fen = lines.iter().find_map(|line| line.strip_prefix("info string fen "));
    fen.unwrap_or_else(|| panic!("no FEN in {lines:?}")).to_owned()
}

#[test]
fn bad_options_and_positions_get_one_answer_and_leave_the_session_alone() {
    let mut engine = Program::uniform();
    engine.send("position startpos moves e2e4");
    let before = shown_fen(&mut engine);
    let options = cases(include_str!("../../../tests/data/uci/bad_setoption_cases.txt")).map(str::to_owned);
    let positions = cases(include_str!("../../../tests/data/uci/invalid_fen_cases.txt"));
    let lines = options.chain(positions.map(|fen| format!("position fen {fen}")));
    for line in lines {
        let answer = engine.answer(&line);
        assert!(matches!(&answer[..], [one] if one.starts_with("info string ")), "{line}: {answer:?}");
        assert_eq!(shown_fen(&mut engine), before, "{line}");
    }
    // Too many and too few threads were clamped; the engine plays on once it has a position.
    assert_eq!(engine.search("", "go nodes 20").best(), "(none)");
    assert_eq!(engine.search("position startpos", "go nodes 20").best().len(), 4);
}

#[test]
fn en_passant_squares_that_no_pawn_can_use_are_dropped() {
    let mut engine = Program::uniform();
    for case in cases(include_str!("../../../tests/data/uci/stockfish_ep_fen_cases.tsv")) {
        let (given, shown) = case.split_once('\t').expect("two columns");
        engine.send(&format!("position fen {given}"));
        assert_eq!(shown_fen(&mut engine), shown, "{given}");
    }
}

#[test]
fn mates_and_a_perpetual_are_seen_as_they_are() {
    let mut engine = Program::uniform();
    for case in cases(include_str!("../../../tests/data/uci/stockfish_mate_fen_cases.tsv")) {
        let columns: Vec<&str> = case.split('\t').collect();
        let [position, go, expected] = columns[..] else { panic!("three columns in {case}") };
        // Our depth is the mean length of all paths, so a node limit replaces the limit of depth.
        let search = engine.search(position, &go.replace("depth 18", "nodes 10000"));
        for part in expected.split(';').map(str::trim) {
            let words: Vec<&str> = part.split(' ').take_while(|word| !word.starts_with('(')).collect();
            match words[..] {
                ["score", kind, value, ..] => {
                    let score = format!(" score {kind} {value} ");
                    assert!(search.last().contains(&score), "{case}: {}", search.last());
                }
                ["bestmove", best] => assert_eq!(search.best(), best, "{case}"),
                ["pv", ref moves @ ..] => {
                    let (_, pv) = search.last().split_once(" pv ").expect("there is a variation");
                    let pv: Vec<&str> = pv.split(' ').collect();
                    let fits = |(found, &wanted): (&&str, &&str)| wanted == "*" || *found == wanted;
                    assert!(pv.len() >= moves.len() && pv.iter().zip(moves).all(fits), "{case}: {pv:?}");
                }
                _ => panic!("unknown expectation {part}"),
            }
        }
    }
}
