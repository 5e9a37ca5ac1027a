//! The mate search: hand-checked mates, draws, properties, and proofs played out against every defence.

mod mate_sample;

use std::collections::HashSet;

use engine::chess::mates::{ForcedMate, MateLimits, MateResult, MateSearch};
use engine::chess::position::{Game, Outcome};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use shakmaty::{
    Bitboard, Board, CastlingMode, Chess, Color, FromSetup, Piece, Position, Role, Setup, Square,
};

use mate_sample::sample;

const TABLE: usize = 4 << 20;

fn within(moves: u8) -> MateLimits {
    MateLimits { moves, nodes: 1_000_000, ..MateLimits::default() }
}

fn search(game: &Game, limits: MateLimits) -> MateResult {
    MateSearch::new(TABLE).search(game, limits, &mut || false)
}

fn mate(game: &Game, limits: MateLimits) -> ForcedMate {
    match search(game, limits) {
        MateResult::Mate(mate) => mate,
        other => panic!("{}: {other:?}", game.fen()),
    }
}

fn line(mate: &ForcedMate) -> Vec<String> {
    mate.line.iter().map(|m| Game::uci(*m, false)).collect()
}

fn game(fen: &str) -> Game {
    Game::from_fen(fen).unwrap_or_else(|error| panic!("{fen}: {error}"))
}

fn play_out(search: &mut MateSearch, game: &Game, plies: u16, done: &mut HashSet<(u64, u16)>) {
    if !done.insert((game.key(), plies)) {
        return;
    }
    let limits = MateLimits { moves: plies.div_ceil(2) as u8, nodes: 1_000_000, shorten: false };
    let MateResult::Mate(mate) = search.search(game, limits, &mut || false) else {
        panic!("no proof within {plies} plies: {}", game.fen());
    };
    assert!(mate.plies_at_most <= plies);
    let mut replied = game.clone();
    replied.play(mate.line[0]);
    if let Some(outcome) = replied.outcome() {
        assert_eq!(outcome, Outcome::Decisive { winner: game.turn() }, "{}", replied.fen());
        return;
    }
    for reply in replied.legal_moves() {
        let mut next = replied.clone();
        next.play(reply);
        assert_eq!(next.outcome(), None, "{}", next.fen());
        play_out(search, &next, mate.plies_at_most - 2, done);
    }
}

/// Returns whether the side to move mates within `moves` moves, by unpruned search.
fn mates_within(game: &Game, moves: u8) -> bool {
    game.legal_moves().into_iter().any(|m| {
        let mut replied = game.clone();
        replied.play(m);
        match replied.outcome() {
            Some(outcome) => outcome == Outcome::Decisive { winner: game.turn() },
            None => {
                moves > 1
                    && replied.legal_moves().into_iter().all(|reply| {
                        let mut next = replied.clone();
                        next.play(reply);
                        next.outcome().is_none() && mates_within(&next, moves - 1)
                    })
            }
        }
    })
}

/// The last of `moves` is the defender's.
fn played(fen: &str, moves: &str) -> Game {
    Game::from_uci(Some(fen), moves.split_whitespace()).unwrap_or_else(|error| panic!("{fen}: {error}"))
}

/// Random kings and up to four white and two black pieces; any side to move, counters up to 99.
fn sparse_position(random: &mut SmallRng) -> Game {
    loop {
        let mut board = Board::empty();
        let roles = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn];
        let mut put = |color: Color, role: Role, random: &mut SmallRng| {
            let rank = if role == Role::Pawn { random.random_range(1..7) } else { random.random_range(0..8) };
            let square = Square::new(8 * rank + random.random_range(0..8));
            if board.piece_at(square).is_none() {
                board.set_piece_at(square, Piece { color, role });
            }
        };
        for color in Color::ALL {
            put(color, Role::King, random);
        }
        for color in [Color::White; 4].into_iter().chain([Color::Black; 2]) {
            if random.random_bool(0.7) {
                put(color, roles[random.random_range(0..5)], random);
            }
        }
        let setup = Setup {
            board,
            turn: if random.random_bool(0.5) { Color::White } else { Color::Black },
            halfmoves: random.random_range(0..100),
            ..Setup::empty()
        };
        if let Ok(position) = Chess::from_setup(setup, CastlingMode::Standard) {
            return Game::from_position(position);
        }
    }
}

/// Swaps colours or files; without castling and en passant.
fn reflected(game: &Game, files: bool) -> Game {
    let mut setup = game.position().to_setup(shakmaty::EnPassantMode::Legal);
    if files {
        setup.board.flip_horizontal();
    } else {
        setup.mirror();
    }
    setup.castling_rights = Bitboard::EMPTY;
    Game::from_position(Chess::from_setup(setup, CastlingMode::Standard).expect("as legal as before"))
}

#[test]
fn mates_by_hand() {
    for (what, fen, moves) in [
        ("back rank", "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "a1a8"),
        ("fool's mate", "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2", "d8h4"),
        ("a knight, not a queen", "7b/5Ppk/7p/5K2/2B5/8/8/8 w - - 0 1", "f7f8n"),
        ("en passant", "5K2/8/2qk4/2nPp3/3r4/6B1/B7/3R4 w - e6 0 1", "d5e6"),
        ("castling in Chess960", "2rkr3/2p1p3/8/8/8/8/8/RK6 w A - 0 1", "b1a1"),
        ("a quiet move", "7k/8/5K2/8/8/8/6R1/8 w - - 0 1", "f6f7 h8h7 g2h2"),
        ("double check", "rnb1kb1r/pp3ppp/2p5/4q3/4n3/3Q4/PPPB1PPP/2KR1BNR w kq - 0 1", "d3d8 e8d8 d2g5"),
        ("smothered", "r6k/6pp/8/6N1/2Q5/8/8/6K1 w - - 0 1", "g5f7 h8g8 f7h6 g8h8 c4g8 a8g8 h6f7"),
    ] {
        let game = game(fen);
        let found = mate(&game, within(5));
        let expected: Vec<&str> = moves.split(' ').collect();
        let plies = expected.len() + if what == "double check" { 2 } else { 0 };
        assert_eq!(found.plies_at_most as usize, plies, "{what}");
        assert!(found.shortest, "{what}");
        assert_eq!(line(&found)[..expected.len()], expected, "{what}");
        assert_eq!(found.line.len(), plies, "{what}");
        play_out(&mut MateSearch::new(TABLE), &game, found.plies_at_most, &mut HashSet::new());
    }
}

#[test]
fn stalemate_is_no_mate() {
    // Each move but the king's to b6, which stalemates, gives up the pawn.
    let MateResult::NoMate { moves } = search(&game("k7/P7/K7/8/8/8/8/8 w - - 0 1"), within(3)) else {
        panic!("a draw")
    };
    assert!(moves >= 3);
    // The queen takes away every square and gives no check.
    assert!(matches!(search(&game("7k/5Q2/8/6K1/8/8/8/8 b - - 0 1"), within(3)), MateResult::NoMate { .. }));
    let stalemate = game("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1");
    let result = MateSearch::new(TABLE).search_defence(&stalemate, within(3), &mut || false);
    assert!(matches!(result, MateResult::NoMate { .. }));
}

#[test]
fn a_mate_must_come_before_the_hundred_plies_are_over() {
    let clock = |clock: u32| game(&format!("7k/8/5K2/8/8/8/6R1/8 w - - {clock} 80"));
    assert_eq!(mate(&clock(97), within(5)).plies_at_most, 3, "mate on the hundredth ply counts");
    assert!(matches!(search(&clock(98), within(5)), MateResult::NoMate { .. }));
    // Results for one counter say nothing about another.
    let mut search = MateSearch::new(TABLE);
    for plies in [97, 98, 0, 98, 97] {
        let result = search.search(&clock(plies), within(3), &mut || false);
        assert_eq!(matches!(result, MateResult::Mate(_)), plies < 98, "{plies}");
    }
}

#[test]
fn a_third_occurrence_is_no_mate() {
    // White mates in two by Kf7, unless that position has occurred twice.
    let fen = "7k/5K2/8/8/8/8/6R1/8 b - - 0 1";
    let once = played(fen, "h8h7 f7f6 h7h8");
    assert_eq!(line(&mate(&once, within(2))), ["f6f7", "h8h7", "g2h2"]);
    let twice = played(fen, "h8h7 f7f6 h7h8 f6f7 h8h7 f7f6 h7h8");
    assert_eq!(twice.hash(), once.hash());
    assert!(!mates_within(&twice, 2));
    assert!(matches!(search(&twice, within(2)), MateResult::NoMate { moves: 2.. }));
    let mut search = MateSearch::new(TABLE);
    for _ in 0..2 {
        assert!(matches!(search.search(&once, within(2), &mut || false), MateResult::Mate(_)));
        assert!(matches!(search.search(&twice, within(2), &mut || false), MateResult::NoMate { .. }));
    }
    let longer = mate(&twice, within(5));
    assert!(longer.plies_at_most > 3);
    play_out(&mut search, &twice, longer.plies_at_most, &mut HashSet::new());
}

#[test]
fn the_defenders_side_of_it() {
    let mut search = MateSearch::new(TABLE);
    let mut defend = |fen| search.search_defence(&game(fen), within(5), &mut || false);
    let MateResult::Mate(found) = defend("7k/5K2/8/8/8/8/6R1/8 b - - 0 1") else {
        panic!("mate in two plies")
    };
    assert_eq!((found.plies_at_most, line(&found)), (2, vec!["h8h7".to_owned(), "g2h2".to_owned()]));
    let MateResult::Mate(found) = defend("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1") else { panic!("mate") };
    assert_eq!((found.plies_at_most, found.line.len()), (0, 0));
    assert!(matches!(
        defend("6k1/4Rppp/8/8/8/8/8/4K3 b - - 0 1"),
        MateResult::NoMate { .. } | MateResult::Unknown { .. }
    ));
}

/// Compares mates within two moves with an unpruned search, with a large and a tiny table.
#[test]
fn as_the_definition_says_in_sparse_positions() {
    let mut random = SmallRng::seed_from_u64(5);
    let (mut large, mut small) = (MateSearch::new(TABLE), MateSearch::new(1 << 12));
    let mut found = [0; 3];
    for _ in 0..1500 {
        let game = sparse_position(&mut random);
        if game.outcome().is_some() {
            continue;
        }
        let moves = (1..=2).find(|&moves| mates_within(&game, moves));
        found[moves.map_or(0, usize::from)] += 1;
        for search in [&mut large, &mut small] {
            match search.search(&game, within(2), &mut || false) {
                MateResult::Mate(mate) => {
                    assert_eq!(
                        Some(mate.plies_at_most),
                        moves.map(|moves| 2 * u16::from(moves) - 1),
                        "{}",
                        game.fen()
                    );
                }
                MateResult::NoMate { moves: 2.. } => assert_eq!(moves, None, "{}", game.fen()),
                other => panic!("{}: {other:?}", game.fen()),
            }
        }
    }
    assert!(found.iter().all(|&count| count > 10), "{found:?}");
}

#[test]
fn reflections_change_nothing() {
    let mut random = SmallRng::seed_from_u64(6);
    let sparse = std::iter::repeat_with(|| sparse_position(&mut random)).take(150);
    let without_castling = sample().into_iter().filter(|(game, moves)| {
        *moves <= 3 && game.position().castles().is_empty() && game.position().maybe_ep_square().is_none()
    });
    let mut mates = 0;
    for game in without_castling.map(|(game, _)| game).chain(sparse) {
        let verdict = |game: &Game| match search(game, within(3)) {
            MateResult::Mate(mate) if mate.shortest => Some(mate.plies_at_most),
            MateResult::NoMate { .. } => None,
            other => panic!("{}: {other:?}", game.fen()),
        };
        let expected = verdict(&game);
        mates += usize::from(expected.is_some());
        for files in [false, true] {
            assert_eq!(verdict(&reflected(&game, files)), expected, "{}", game.fen());
        }
    }
    assert!(mates > 30, "{mates}");
}

#[test]
fn every_proof_of_the_sample_ends_in_mate_against_every_defence() {
    let mut search = MateSearch::new(8 << 20);
    let mut positions = 0;
    for (game, moves) in sample() {
        let limits = MateLimits { nodes: 400_000, shorten: moves <= 3, ..MateLimits::default() };
        let MateResult::Mate(found) = search.search(&game, limits, &mut || false) else {
            panic!("not found: {}", game.fen());
        };
        if moves <= 3 {
            assert_eq!(
                (found.plies_at_most, found.shortest),
                (2 * u16::from(moves) - 1, true),
                "{}",
                game.fen()
            );
        }
        let mut end = game.clone();
        found.line.iter().for_each(|m| end.play(*m));
        assert_eq!(end.outcome(), Some(Outcome::Decisive { winner: game.turn() }), "{}", game.fen());
        assert!(found.line.len() <= found.plies_at_most as usize);
        let mut done = HashSet::new();
        play_out(&mut search, &game, found.plies_at_most, &mut done);
        positions += done.len();
    }
    assert!(positions > 1000, "{positions}");
}

#[test]
fn short_searches_continue_one_another() {
    let (game, _) = sample().into_iter().find(|(_, moves)| *moves == 4).expect("a mate in four");
    let mut search = MateSearch::new(TABLE);
    let slice = MateLimits { nodes: 100, ..MateLimits::default() };
    let found = (0..2000).find(|_| matches!(search.search(&game, slice, &mut || false), MateResult::Mate(_)));
    assert!(found.expect("found in the end") > 2, "not in one slice");
    // A search of another game in between does no harm, and a mate already found is returned at once.
    search.search(&Game::new(), slice, &mut || false);
    assert!(matches!(search.search(&game, slice, &mut || false), MateResult::Mate(_)));
    search.clear();
    assert!(matches!(search.search(&game, slice, &mut || false), MateResult::Unknown { .. }));
}

#[test]
fn limits_and_the_caller_end_a_search() {
    let game = Game::new();
    let mut search = MateSearch::new(TABLE);
    for nodes in [0, 1, 1000, 20_000] {
        let limits = MateLimits { nodes, ..MateLimits::default() };
        assert!(matches!(search.search(&game, limits, &mut || false), MateResult::Unknown { .. }));
        assert!(search.nodes() < nodes + 1000, "{nodes}: {}", search.nodes());
    }
    search.clear();
    let mut looks = 0;
    let result = search.search(&game, MateLimits::default(), &mut || {
        looks += 1;
        looks == 10
    });
    assert!(matches!(result, MateResult::Unknown { no_mate_within: 2 }), "{result:?}");
    assert_eq!(looks, 10);
    assert!(search.nodes() < 10_000, "{}", search.nodes());
}
