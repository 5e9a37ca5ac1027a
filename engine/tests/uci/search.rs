use crate::program::{Program, Search, field, number};
use engine::chess::position::Game;

/// Every variation must be legal from the searched position and end where the game does.
pub fn check_variations(search: &Search, start: &Game, chess960: bool) {
    for info in search.infos() {
        let Some((_, pv)) = info.split_once(" pv ") else { continue };
        let mut game = start.clone();
        for text in pv.split(' ') {
            assert_eq!(game.outcome(), None, "{info}: past the end before {text}");
            let m = game.parse_uci(text).unwrap_or_else(|error| panic!("{info}: {error}"));
            assert_eq!(Game::uci(m, chess960), text, "{info}");
            game.play(m);
        }
    }
}

#[test]
fn infos_end_with_the_move_played_and_depth_never_falls() {
    let mut engine = Program::uniform();
    engine.send("setoption name UCI_ShowWDL value true");
    let search = engine.search("position startpos", "go nodes 20000");
    let infos = search.infos();
    assert_eq!(search.lines[search.lines.len() - 2], search.last(), "one last info before the bestmove");
    assert_eq!(search.field("pv"), Some(search.best()));
    assert!(number(search.last(), "nodes") >= 20_000);
    let depths: Vec<i64> = infos.iter().map(|info| number(info, "depth")).collect();
    assert!(depths.is_sorted(), "{depths:?}");
    for info in &infos {
        assert!(number(info, "seldepth") >= number(info, "depth"), "{info}");
        let wdl: Vec<&str> = info.split(' ').skip_while(|word| *word != "wdl").skip(1).take(3).collect();
        assert_eq!(wdl.iter().map(|share| share.parse::<i64>().unwrap()).sum::<i64>(), 1000, "{info}");
    }
    check_variations(&search, &Game::new(), false);
    let pv: Vec<&str> = search.last().split_once(" pv ").unwrap().1.split(' ').collect();
    assert_eq!(search.ponder(), pv.get(1).copied());
}

/// The last lines of a search without the fields that depend on time.
fn timeless(search: &Search) -> Vec<String> {
    let words = |line: &String| {
        let mut kept = Vec::new();
        let mut words = line.split(' ');
        while let Some(word) = words.next() {
            match word {
                "time" | "nps" => drop(words.next()),
                _ => kept.push(word),
            }
        }
        kept.join(" ")
    };
    // The lines before depend on time, the result does not.
    search.lines[search.lines.len() - 2..].iter().map(words).collect()
}

#[test]
fn one_thread_and_a_fixed_precision_repeat_themselves() {
    let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3";
    for precision in ["fp32", "int8"] {
        let start = || {
            let mut engine = Program::start();
            engine
                .send(&format!("setoption name Threads value 1\nsetoption name Precision value {precision}"));
            engine
        };
        let game = |engine: &mut Program| {
            let first = timeless(&engine.search(&format!("position fen {fen}"), "go nodes 300"));
            // The second search reuses the first one's tree.
            let second = engine.search(&format!("position fen {fen} moves g8f6 d2d3"), "go nodes 200");
            (first, timeless(&second))
        };
        let mut engine = start();
        let once = game(&mut engine);
        engine.send("ucinewgame");
        assert_eq!(game(&mut engine), once, "after ucinewgame, {precision}");
        assert_eq!(game(&mut start()), once, "in another run, {precision}");
    }
}

#[test]
fn multipv_lines_come_in_order_and_no_more_than_there_are_moves() {
    let mut engine = Program::uniform();
    engine.send("setoption name MultiPV value 5");
    for (position, go, lines) in [
        ("position startpos", "go nodes 500", 5),
        ("position startpos", "go nodes 500 searchmoves e2e4 d2d4", 2),
        // Two legal moves, then one.
        ("position fen 7k/8/8/8/8/8/r7/7K w - - 0 1", "go nodes 100", 1),
        ("position fen k7/8/8/8/8/8/6q1/7K w - - 0 1", "go nodes 100", 1),
    ] {
        let search = engine.search(position, go);
        let infos = search.infos();
        let last = &infos[infos.len() - lines..];
        for (info, rank) in last.iter().zip(1..) {
            assert_eq!(number(info, "multipv"), rank, "{last:#?}");
            assert_eq!(number(info, "depth"), number(last[0], "depth"), "{last:#?}");
        }
        assert!(infos.iter().all(|info| number(info, "multipv") <= lines as i64));
        assert_eq!(field(last[0], "pv"), Some(search.best()));
    }
}

#[test]
fn a_mate_says_nothing_of_the_moves_beside_it() {
    let mut engine = Program::uniform();
    engine.send("setoption name MultiPV value 5\nsetoption name UCI_ShowWDL value true");
    let search = engine.search("position fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "go nodes 100");
    let infos = search.infos();
    let [mate, others @ ..] = &infos[infos.len() - 5..] else { panic!("{infos:?}") };
    assert!(mate.contains("score mate 1 wdl 1000 0 0") && search.best() == "d1d8", "{mate}");
    for other in others {
        assert!(
            !other.contains("cp 10000") && !other.contains("wdl 1000 0 0"),
            "unvisited, not won: {other}"
        );
    }
}

/// The other two moves are mated in one; a full search of this move would take minutes.
#[test]
fn the_only_move_that_does_not_lose_is_played_at_once() {
    let mut engine = Program::uniform();
    let search = engine
        .search("position fen 8/6q1/2p3p1/5P1N/7R/1rK5/4k3/8 w - - 0 1", "go wtime 3600000 btime 3600000");
    assert_eq!(search.best(), "c3b3");
    assert!(number(search.last(), "nodes") < 1_000_000, "{}", search.last());
}

#[test]
fn there_is_a_score_also_with_one_legal_move_and_none() {
    let mut engine = Program::uniform();
    let one = engine.search("position fen k7/8/8/8/8/8/6q1/7K w - - 0 1", "go wtime 60000 btime 60000");
    assert_eq!(one.best(), "h1g2");
    assert!(one.field("score").is_some());
    for (fen, score) in
        [("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "score cp 0"), ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "score mate 0")]
    {
        let none = engine.search(&format!("position fen {fen}"), "go wtime 1000 btime 1000");
        assert_eq!(none.lines.last().unwrap(), "bestmove (none)");
        assert!(none.last().contains(score), "{:?}", none.lines);
    }
}

#[test]
fn mates_are_found_and_counted_in_moves() {
    let mut engine = Program::uniform();
    let two = "8/5R2/2K1P3/4k3/8/b1PPpp1B/5p2/8 w - -";
    for (position, go, score, best) in [
        ("fen 5K2/8/2qk4/2nPp3/3r4/6B1/B7/3R4 w - e6", "go nodes 100000", "score mate 1 ", Some("d5e6")),
        ("fen 2brrb2/8/p7/Q7/1p1kpPp1/1P1pN1K1/3P4/8 b - -", "go nodes 100000", "score mate -1 ", None),
        (two, "go mate 2 searchmoves c6d7", "score mate 2 ", Some("c6d7")),
        (&format!("{two} moves c6d7 f2f1q"), "go nodes 100000", "score mate 1 ", Some("f7f5")),
        (&format!("{two} moves c6d7"), "go nodes 100000 searchmoves e3e2", "score mate -1 ", Some("e3e2")),
        ("fen r1b2r1k/pp1p2pp/2p5/2B1q3/8/8/P1PN2PP/R4RK1 w - - 0 18", "go", "score mate 1 ", None),
    ] {
        let position =
            if position.starts_with("fen") { position.to_owned() } else { format!("fen {position}") };
        let search = engine.search(&format!("position {position}"), go);
        assert!(search.last().contains(score), "{position}: {}", search.last());
        if let Some(best) = best {
            assert_eq!(search.best(), best, "{position}");
        }
    }
}

#[test]
fn a_lost_game_is_drawn_by_repetition() {
    let mut engine = Program::uniform();
    let position =
        "position fen q4kb1/3Q2nq/8/r3PpK1/2n5/7q/8/q7 w - f6 0 1 moves d7c8 f8f7 c8d7 f7f8 d7d8 f8f7";
    let search = engine.search(position, "go nodes 3000 searchmoves d8d7");
    assert_eq!((search.field("cp"), search.best()), (Some("0"), "d8d7"));
}

#[test]
fn searchmoves_and_counted_limits_hold() {
    let mut engine = Program::uniform();
    let search = engine.search("position startpos", "go nodes 300 searchmoves a2a3 h2h3");
    assert!(["a2a3", "h2h3"].contains(&search.best()), "{}", search.best());
    let shallow = engine.search("position startpos", "go depth 2");
    assert!(number(shallow.last(), "depth") >= 2);
    for nothing in
        ["go nodes 0", "go depth 0", "go movetime 0", "go wtime 0 btime 0", "go wtime -50 btime -50"]
    {
        let search = engine.search("position startpos", nothing);
        assert!(search.best().len() >= 4 && search.field("score").is_some(), "{nothing}");
    }
    // Only the opponent's clock is given.
    assert!(engine.search("position startpos moves e2e4", "go wtime 200").best().len() >= 4);
}

#[test]
fn castling_is_understood_both_ways_and_written_as_the_gui_wants() {
    let fen = "position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    for (chess960, castling) in [("false", "e1g1"), ("true", "e1h1")] {
        let mut engine = Program::uniform();
        engine.send(&format!("setoption name UCI_Chess960 value {chess960}"));
        for word in ["e1g1", "e1h1"] {
            let search = engine.search(fen, &format!("go nodes 50 searchmoves {word}"));
            assert_eq!(search.best(), castling, "{word}");
            check_variations(&search, &Game::from_fen(&fen[13..]).unwrap(), chess960 == "true");
            assert_eq!(engine.answer(&format!("{fen} moves {word} e8c8")), [""; 0]);
            assert_eq!(engine.answer(&format!("{fen} moves {word} e8a8")), [""; 0]);
        }
    }
    // With the king on f1, no two-square step can mean castling.
    let mut engine = Program::uniform();
    let inside = "position fen 1r3k1r/8/8/8/8/8/8/1R3K1R w HBhb - 0 1";
    assert_eq!(engine.search(inside, "go nodes 50 searchmoves f1b1").best(), "f1b1");
}

#[test]
fn settings_are_taken_between_searches() {
    let mut engine = Program::uniform();
    for setting in [
        "Threads value 3",
        "Hash value 1",
        "MinibatchSize value 32",
        "CPuct value 3.0",
        "PolicyTemperature value 1",
        "Clear Hash",
        "Threads value 1",
    ] {
        assert_eq!(engine.answer(&format!("setoption name {setting}")), [""; 0], "{setting}");
        let search = engine.search("ucinewgame\nposition startpos", "go nodes 2000");
        assert_eq!(search.field("pv"), Some(search.best()), "{setting}");
        check_variations(&search, &Game::new(), false);
    }
}

#[test]
fn eval_shows_the_evaluation() {
    let mut engine = Program::uniform();
    let answer = engine.answer("position startpos\neval");
    assert!(answer[0].contains("draw 100.0 %"), "{answer:?}");
    assert_eq!(answer.len(), 11);
    assert!(answer[1..].iter().all(|line| line.ends_with(" 5.0 %")), "{answer:?}");
}
