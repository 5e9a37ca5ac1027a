use shakmaty::PositionError as ImpossibleError;
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{
    Bitboard, Board, CastlingMode, Chess, Color, EnPassantMode, File, Move, MoveList, Position, Rank, Role,
    Square, attacks,
};
use thiserror::Error;

#[derive(Clone, Debug)]
pub struct PastPosition {
    pub board: Board,
    pub repetitions: u32,
    hash: u64,
}

impl PastPosition {
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// Facts about the start position that its board does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartPosition {
    pub initial: bool,
    /// The target square after any double push, even if no capture is legal.
    pub en_passant: Option<Square>,
}

#[derive(Debug)]
pub struct Game {
    start: StartPosition,
    present: Present,
    past: Vec<PastPosition>,
}

#[derive(Clone, Debug)]
struct Present {
    position: Chess,
    hash: u64,
    repetitions: u32,
    /// Plies since the last occurrence; 0 if the position is new.
    recurrence: u32,
    /// Hash of the set of positions that can still be repeated.
    repeatable: u64,
    last_move: Option<Move>,
}

#[derive(Clone, Debug)]
pub(crate) struct GameMark {
    plies: usize,
    present: Present,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Decisive { winner: Color },
    Draw(DrawReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawReason {
    Stalemate,
    InsufficientMaterial,
    Threefold,
    /// A hundred plies without capture or pawn move.
    FiftyMoves,
}

impl Outcome {
    pub fn reason(&self) -> &'static str {
        match self {
            Outcome::Decisive { .. } => "checkmate",
            Outcome::Draw(DrawReason::Stalemate) => "stalemate",
            Outcome::Draw(DrawReason::InsufficientMaterial) => "neither side can mate",
            Outcome::Draw(DrawReason::Threefold) => "the position occurred three times",
            Outcome::Draw(DrawReason::FiftyMoves) => "fifty moves without capture or pawn move",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PositionError {
    #[error("not a FEN: {0}")]
    Fen(String),
    #[error("impossible position: {0}")]
    Impossible(String),
    #[error("not a move: {0}")]
    Notation(String),
    #[error("illegal move: {0}")]
    Illegal(String),
}

impl Default for Game {
    fn default() -> Game {
        Game::new()
    }
}

impl Clone for Game {
    fn clone(&self) -> Game {
        Game { start: self.start, present: self.present.clone(), past: self.past.clone() }
    }

    /// Reuses memory: searches copy their root often.
    fn clone_from(&mut self, source: &Game) {
        self.start = source.start;
        self.present.clone_from(&source.present);
        self.past.clone_from(&source.past);
    }
}

impl Game {
    pub fn new() -> Game {
        Game::from_position(Chess::default())
    }

    pub fn from_position(position: Chess) -> Game {
        let hash = hash_of(&position);
        let start = StartPosition {
            initial: hash == hash_of(&Chess::default()),
            en_passant: position.maybe_ep_square(),
        };
        let past = Vec::new();
        let present =
            Present { position, hash, repetitions: 0, recurrence: 0, repeatable: 0, last_move: None };
        Game { start, present, past }
    }

    /// Reads a FEN, X-FEN or Shredder-FEN, with or without counters. Drops castling rights without a rook and
    /// en-passant squares without a pawn, which some GUIs write; accepts unusual material and impossible checks.
    pub fn from_fen(fen: &str) -> Result<Game, PositionError> {
        let setup = Fen::from_ascii(fen.trim().as_bytes())
            .map_err(|error| PositionError::Fen(format!("{error} in \"{fen}\"")))?
            .into_setup();
        let mode = CastlingMode::detect(&setup);
        let position = setup
            .position::<Chess>(mode)
            .or_else(ImpossibleError::ignore_invalid_castling_rights)
            .or_else(ImpossibleError::ignore_invalid_ep_square)
            .or_else(ImpossibleError::ignore_too_much_material)
            .or_else(ImpossibleError::ignore_impossible_check)
            .map_err(|error| PositionError::Impossible(format!("{error} in \"{fen}\"")))?;
        Ok(Game::from_position(position))
    }

    pub fn from_uci<'a>(
        fen: Option<&str>,
        moves: impl IntoIterator<Item = &'a str>,
    ) -> Result<Game, PositionError> {
        let mut game = fen.map_or_else(|| Ok(Game::new()), Game::from_fen)?;
        for text in moves {
            let m = game.parse_uci(text)?;
            game.play(m);
        }
        Ok(game)
    }

    /// Takes back all moves since `earlier`, an earlier stage of this game; much faster than copying it.
    pub fn rewind_to(&mut self, earlier: &Game) {
        assert!(self.past.len() >= earlier.past.len(), "a later position of the same game");
        self.past.truncate(earlier.past.len());
        self.start = earlier.start;
        self.present.clone_from(&earlier.present);
    }

    #[inline]
    pub(crate) fn mark(&self) -> GameMark {
        GameMark { plies: self.past.len(), present: self.present.clone() }
    }

    #[inline]
    pub(crate) fn rewind_to_mark(&mut self, mark: &GameMark) {
        assert!(self.past.len() >= mark.plies, "a later position of the same game");
        self.past.truncate(mark.plies);
        self.present.clone_from(&mark.present);
    }

    pub fn start(&self) -> StartPosition {
        self.start
    }

    pub fn position(&self) -> &Chess {
        &self.present.position
    }

    pub fn turn(&self) -> Color {
        self.present.position.turn()
    }

    pub fn last_move(&self) -> Option<Move> {
        self.present.last_move
    }

    /// In shakmaty's order, the same on every machine.
    pub fn legal_moves(&self) -> MoveList {
        self.present.position.legal_moves()
    }

    /// Much faster than [`Game::legal_moves`] if a pawn or knight can obviously move.
    pub fn has_legal_move(&self) -> bool {
        self.has_obvious_move() || !self.legal_moves().is_empty()
    }

    fn has_obvious_move(&self) -> bool {
        let (board, side) = (self.present.position.board(), self.turn());
        let occupied = board.occupied();
        let Some(king) = board.king_of(side).filter(|_| self.present.position.checkers().is_empty()) else {
            return false;
        };
        // Only a piece that the king sees can be pinned.
        let own = board.by_color(side);
        let free = own & !attacks::queen_attacks(king, occupied);
        let pawns = (board.pawns() & free).0;
        let ahead = if side.is_white() { pawns << 8 } else { pawns >> 8 };
        let goes_somewhere = |knight| !(attacks::knight_attacks(knight) & !own).is_empty();
        ahead & !occupied.0 != 0 || (board.knights() & free).into_iter().any(goes_somewhere)
    }

    pub fn play(&mut self, m: Move) {
        let hash_after = self.hash_after(m);
        self.play_to(m, hash_after);
    }

    #[inline]
    pub(crate) fn play_to(&mut self, m: Move, hash_after: Option<u64>) {
        self.past.push(PastPosition {
            board: self.present.position.board().clone(),
            repetitions: self.present.repetitions,
            hash: self.present.hash,
        });
        let rights = self.present.position.castles().castling_rights();
        self.present.position.play_unchecked(m);
        self.present.last_move = Some(m);
        let irreversible = self.present.position.halfmoves() == 0
            || self.present.position.castles().castling_rights() != rights;
        self.present.repeatable = self.repeatable_after(irreversible);
        self.present.hash = hash_after.unwrap_or_else(|| hash_of(&self.present.position));
        self.find_repetition();
    }

    /// Castling is `e1g1` or king takes rook.
    pub fn parse_uci(&self, text: &str) -> Result<Move, PositionError> {
        UciMove::from_ascii(text.as_bytes())
            .map_err(|_| PositionError::Notation(text.to_owned()))?
            .to_move(&self.present.position)
            .map_err(|_| PositionError::Illegal(text.to_owned()))
    }

    /// Castling is the king's two-square step, or king takes rook if `chess960` is set or a piece is not on its
    /// standard square.
    pub fn uci(m: Move, chess960: bool) -> String {
        let mode = match m {
            Move::Castle { king, rook } if !chess960 && is_standard_castling(king, rook) => {
                CastlingMode::Standard
            }
            _ => CastlingMode::Chess960,
        };
        m.to_uci(mode).to_string()
    }

    /// Earlier occurrences, with the same castling rights and legal en-passant captures.
    pub fn repetitions(&self) -> u32 {
        self.present.repetitions
    }

    pub fn recurrence(&self) -> Option<usize> {
        (self.present.recurrence > 0).then_some(self.present.recurrence as usize)
    }

    /// Oldest first.
    pub fn past(&self) -> &[PastPosition] {
        &self.past
    }

    pub fn ply(&self) -> usize {
        self.past.len()
    }

    pub fn hash(&self) -> u64 {
        self.present.hash
    }

    /// Hashes all that decides how the game can continue: position, fifty-move counter, and the positions that can
    /// still be repeated.
    pub fn key(&self) -> u64 {
        key_of(self.present.hash, self.present.position.halfmoves(), self.present.repeatable)
    }

    pub(crate) fn key_after(&self, m: Move, hash: u64) -> u64 {
        // No change of castling rights: such a move has no `hash_after`.
        let halfmoves = if m.is_zeroing() { 0 } else { self.present.position.halfmoves().saturating_add(1) };
        key_of(hash, halfmoves, self.repeatable_after(m.is_zeroing()))
    }

    fn repeatable_after(&self, irreversible: bool) -> u64 {
        if irreversible { 0 } else { self.present.repeatable.wrapping_add(scrambled(self.present.hash)) }
    }

    /// `None` for the few moves where playing is as fast.
    pub(crate) fn hash_after(&self, m: Move) -> Option<u64> {
        hash_after(&self.present.position, self.present.hash, m)
    }

    /// `None` if `later` is no continuation.
    pub fn continuation(&self, later: &Game) -> Option<Vec<Move>> {
        let begun = later.past.get(..self.ply())?;
        if !begun.iter().zip(&self.past).all(|(theirs, ours)| theirs.hash == ours.hash) {
            return None;
        }
        let mut game = self.clone();
        let hashes = later.past[self.ply()..].iter().map(|past| past.hash).chain([later.present.hash]);
        if hashes.clone().next() != Some(game.present.hash) {
            return None;
        }
        let mut moves = Vec::new();
        for next in hashes.skip(1) {
            let m = game.legal_moves().into_iter().find(|m| {
                let mut position = game.present.position.clone();
                position.play_unchecked(*m);
                hash_of(&position) == next
            })?;
            game.play(m);
            moves.push(m);
        }
        let counters = |game: &Game| (game.present.position.halfmoves(), game.present.position.fullmoves());
        (counters(&game) == counters(later)).then_some(moves)
    }

    /// Threefold repetition and fifty moves need no claim.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome_given(&self.legal_moves())
    }

    pub fn outcome_given(&self, legal: &MoveList) -> Option<Outcome> {
        if legal.is_empty() {
            return Some(if self.present.position.is_check() {
                Outcome::Decisive { winner: !self.turn() }
            } else {
                Outcome::Draw(DrawReason::Stalemate)
            });
        }
        if self.present.position.is_insufficient_material() {
            Some(Outcome::Draw(DrawReason::InsufficientMaterial))
        } else if self.present.repetitions >= 2 {
            Some(Outcome::Draw(DrawReason::Threefold))
        } else if self.present.position.halfmoves() >= 100 {
            Some(Outcome::Draw(DrawReason::FiftyMoves))
        } else {
            None
        }
    }

    pub fn fen(&self) -> String {
        Fen::from_position(&self.present.position, EnPassantMode::Legal).to_string()
    }

    fn find_repetition(&mut self) {
        // Equal positions have the same side to move and no irreversible move between them. The latest has counted the
        // others.
        let reversible = self.present.position.halfmoves() as usize;
        let earlier = self.past.iter().rev().take(reversible).enumerate().skip(3).step_by(2);
        let (repetitions, recurrence) = earlier
            .filter(|(_, past)| past.hash == self.present.hash)
            .map(|(index, past)| (past.repetitions + 1, index as u32 + 1))
            .next()
            .unwrap_or((0, 0));
        self.present.repetitions = repetitions;
        self.present.recurrence = recurrence;
    }
}

/// Mixes the bits (MurmurHash3's finaliser), so that sums rarely collide.
pub(crate) fn scrambled(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

fn key_of(hash: u64, halfmoves: u32, repeatable: u64) -> u64 {
    let clock = u64::from(halfmoves.min(100)) + 1;
    hash ^ scrambled(clock) ^ scrambled(repeatable)
}

/// shakmaty's Zobrist hash, with own keys for castling rights of inner rooks: Chess960 positions may differ only in
/// which rook may castle.
pub(crate) fn hash_of(position: &Chess) -> u64 {
    let shakmatys = position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0;
    inner_castling_rooks(position)
        .into_iter()
        .fold(shakmatys, |hash, rook| hash ^ scrambled(INNER_ROOK + rook as u64))
}

/// Castling rooks with another own rook further out.
fn inner_castling_rooks(position: &Chess) -> Bitboard {
    let (castles, board) = (position.castles(), position.board());
    if castles.mode() == CastlingMode::Standard {
        return Bitboard::EMPTY;
    }
    let is_inner = |rook: &Square| {
        let own = Bitboard::from(rook.rank()) & board.rooks() & board.by_color(color_at(board, *rook));
        let king_side = board.king_of(color_at(board, *rook)).is_some_and(|king| king < *rook);
        if king_side { own.last() != Some(*rook) } else { own.first() != Some(*rook) }
    };
    castles.castling_rights().into_iter().filter(is_inner).collect()
}

fn color_at(board: &Board, square: Square) -> Color {
    if board.white().contains(square) { Color::White } else { Color::Black }
}

/// [`hash_of`] after a legal move. `None` if the move changes castling rights, or in Chess960 involves a rook while any
/// castling right is left.
pub(crate) fn hash_after(position: &Chess, hash: u64, m: Move) -> Option<u64> {
    let castles = position.castles();
    let moves_rook = [Some(m.role()), m.capture(), m.promotion()].contains(&Some(Role::Rook));
    if moves_rook && castles.mode() == CastlingMode::Chess960 && castles.any() {
        return None;
    }
    position.update_zobrist_hash(Zobrist64(hash), m, EnPassantMode::Legal).map(|hash| hash.0)
}

/// Keeps inner rooks' keys apart from those of the fifty-move counter.
const INNER_ROOK: u64 = 0x960 << 32;

pub(crate) fn is_standard_castling(king: Square, rook: Square) -> bool {
    king.file() == File::E
        && matches!(rook.file(), File::A | File::H)
        && matches!(king.rank(), Rank::First | Rank::Eighth)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn played(fen: Option<&str>, moves: &str) -> Game {
        Game::from_uci(fen, moves.split_whitespace()).unwrap()
    }

    #[test]
    fn a_game_goes_back_to_a_mark_with_all_that_it_knew() {
        let moves =
            "e2e4 a7a6 e4e5 d7d5 g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f1e2 e7e6 e1g1 f6g8 f3d4 g8f6".split(' ');
        let (mut game, mut marks) = (Game::new(), Vec::new());
        let known = |game: &Game| {
            let counted = (game.ply(), game.repetitions(), game.recurrence(), game.last_move());
            (game.fen(), game.hash(), game.key(), counted)
        };
        for m in moves {
            marks.push((game.mark(), known(&game)));
            game.play(game.parse_uci(m).unwrap());
        }
        assert!(
            marks
                .iter()
                .any(|(_, (.., (_, repetitions, recurrence, _)))| *repetitions == 1 && recurrence.is_some())
        );
        let whole = game.clone();
        for (mark, then) in marks.iter().rev() {
            game.rewind_to_mark(mark);
            assert_eq!(known(&game), *then);
        }
        let on = game.continuation(&whole).unwrap();
        on.into_iter().for_each(|m| game.play(m));
        assert_eq!(known(&game), known(&whole));
    }

    #[test]
    fn threefold_counts_from_the_first_time() {
        let round = "g1f3 g8f6 f3g1 f6g8 ";
        assert_eq!(played(None, round).repetitions(), 1);
        assert_eq!(played(None, round).recurrence(), Some(4));
        assert_eq!(played(None, "g1f3").recurrence(), None);
        assert_eq!(played(None, round).outcome(), None);
        let third = played(None, &round.repeat(2));
        assert_eq!(third.repetitions(), 2);
        assert_eq!(third.outcome(), Some(Outcome::Draw(DrawReason::Threefold)));
    }

    #[test]
    fn keys_after_moves_are_those_of_the_positions_after_them() {
        let mut told = 0;
        for fen in [
            None,
            Some("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"),
            Some("r3k2r/1P6/8/3pP3/8/8/1p6/R3K2R w KQkq d6 0 1"),
            Some("1r3k1r/8/8/8/8/8/8/1R3K1R w HBhb - 4294967295 1"),
            Some("1rr2krr/pp4pp/8/8/8/8/PP4PP/1RR2KRR w GBhc - 0 1"),
            Some("1r1k2r1/6P1/7R/8/8/r7/1p6/1R1K2R1 w GBgb - 0 1"),
        ] {
            let mut game = played(fen, "");
            for ply in 0..60 {
                let moves = game.legal_moves();
                for m in &moves {
                    let mut after = game.clone();
                    after.play(*m);
                    assert_eq!(after.present.hash, hash_of(&after.present.position), "{m} in {}", game.fen());
                    if let Some(hash) = game.hash_after(*m) {
                        assert_eq!(game.key_after(*m, hash), after.key(), "{m} in {}", game.fen());
                        told += 1;
                    }
                }
                let Some(m) = moves.get(ply * 7 % moves.len().max(1)) else { break };
                game.play(*m);
            }
        }
        assert!(told > 1000, "{told}");
    }

    /// The positions of a group differ only in the rooks that may castle.
    const CASTLING_ROOKS: [&[&str]; 5] = [
        &[
            "r1bqk2r/ppp2ppp/2n5/3p4/8/2N2NP1/PPP2PBP/R3K1RR w G - 0 1",
            "r1bqk2r/ppp2ppp/2n5/3p4/8/2N2NP1/PPP2PBP/R3K1RR w H - 0 1",
            "r1bqk2r/ppp2ppp/2n5/3p4/8/2N2NP1/PPP2PBP/R3K1RR w A - 0 1",
            "r1bqk2r/ppp2ppp/2n5/3p4/8/2N2NP1/PPP2PBP/R3K1RR w - - 0 1",
        ],
        &[
            "1rr1krr1/8/8/8/8/8/8/1RR1KRR1 w GC - 0 1",
            "1rr1krr1/8/8/8/8/8/8/1RR1KRR1 w FC - 0 1",
            "1rr1krr1/8/8/8/8/8/8/1RR1KRR1 w GB - 0 1",
            "1rr1krr1/8/8/8/8/8/8/1RR1KRR1 w FB - 0 1",
        ],
        &[
            "1rr1krr1/8/8/8/8/8/8/1RR1KRR1 b gc - 0 1",
            "1rr1krr1/8/8/8/8/8/8/1RR1KRR1 b fc - 0 1",
            "1rr1krr1/8/8/8/8/8/8/1RR1KRR1 b gb - 0 1",
            "1rr1krr1/8/8/8/8/8/8/1RR1KRR1 b fb - 0 1",
        ],
        &[
            "rrrk4/8/8/8/8/8/8/RRRK4 w Ab - 0 1",
            "rrrk4/8/8/8/8/8/8/RRRK4 w Ba - 0 1",
            "rrrk4/8/8/8/8/8/8/RRRK4 w Cc - 0 1",
            "rrrk4/8/8/8/8/8/8/RRRK4 w Aa - 0 1",
        ],
        &[
            "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1",
            "4k3/8/8/8/8/8/8/R3K2R w K - 0 1",
            "4k3/8/8/8/8/8/8/R3K2R w Q - 0 1",
        ],
    ];

    #[test]
    fn keys_know_which_rook_may_castle() {
        for fens in CASTLING_ROOKS {
            let games: Vec<Game> = fens.iter().map(|fen| Game::from_fen(fen).unwrap()).collect();
            for (index, game) in games.iter().enumerate() {
                for other in &games[..index] {
                    assert!(
                        game.hash() != other.hash() && game.key() != other.key(),
                        "{} {}",
                        game.fen(),
                        other.fen()
                    );
                    assert_eq!(game.continuation(other), None, "{} {}", game.fen(), other.fen());
                }
            }
        }
        // A rook that moves away and back loses its right.
        let rounds = "g1g2 e8e7 g2g1 e7e8 g1g2 e8e7 g2g1 e7e8";
        let game = |rights| played(Some(&format!("4k3/8/8/8/8/8/8/R3K1RR w {rights} - 0 1")), rounds);
        assert_eq!(game("GA").repetitions(), 1);
        assert_eq!(game("HA").repetitions(), 2);
    }

    #[test]
    fn keys_are_shakmatys_where_the_outermost_rooks_may_castle() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 0 1",
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
            "1r1k2r1/8/8/8/8/8/8/1R1K2R1 w GBgb - 0 9",
        ] {
            let game = Game::from_fen(fen).unwrap();
            assert_eq!(game.hash(), game.position().zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0);
        }
    }

    #[test]
    fn the_key_is_equal_only_for_equal_continuations() {
        let key = |moves| played(None, moves).key();
        // History before an irreversible move does not count.
        assert_eq!(key("g1f3 g8f6 d2d4"), key("g1f3 g8f6 d2d4"));
        assert_eq!(key("g1f3 d7d5 b1c3 g8f6 e2e4"), key("b1c3 g8f6 g1f3 d7d5 e2e4"));
        // The same position with different positions that can be repeated.
        assert_eq!(played(None, "g1f3 g8f6 b1c3").hash(), played(None, "b1c3 g8f6 g1f3").hash());
        assert_ne!(key("g1f3 g8f6 b1c3"), key("b1c3 g8f6 g1f3"));
        // Another fifty-move counter or number of repetitions.
        let from = |fen| Game::from_fen(fen).unwrap().key();
        assert_ne!(from("7k/8/8/8/8/8/R7/K7 w - - 0 1"), from("7k/8/8/8/8/8/R7/K7 w - - 1 1"));
        assert_eq!(from("7k/8/8/8/8/8/R7/K7 w - - 7 40"), from("7k/8/8/8/8/8/R7/K7 w - - 7 60"));
        let round = "g1f3 g8f6 f3g1 f6g8 ";
        assert_ne!(key(round), key(&round.repeat(2)));
    }

    #[test]
    fn a_continuation_is_found_by_its_moves() {
        let start = played(None, "e2e4 e7e5");
        let later = played(None, "e2e4 e7e5 e1e2 e8e7");
        let moves = start.continuation(&later).unwrap();
        assert_eq!(moves.iter().map(|m| Game::uci(*m, false)).collect::<Vec<_>>(), ["e1e2", "e8e7"]);
        assert_eq!(start.continuation(&start), Some(Vec::new()));
        assert_eq!(later.continuation(&start), None);
        assert_eq!(start.continuation(&played(None, "e2e4 e7e6 d2d4")), None);
        // Another history or counter.
        assert_eq!(start.continuation(&Game::from_fen(&start.fen()).unwrap()), None);
        let clock = |clock| Game::from_fen(&format!("7k/8/8/8/8/8/R7/K7 w - - {clock} 1")).unwrap();
        assert_eq!(clock(3).continuation(&clock(4)), None);
    }

    #[test]
    fn rewinding_takes_moves_back() {
        let root = played(None, "g1f3 g8f6 f3g1");
        let mut game = root.clone();
        for reply in ["f6g8", "e7e5"] {
            game.play(game.parse_uci(reply).unwrap());
            game.play(game.legal_moves()[0]);
            game.rewind_to(&root);
            assert_eq!((game.key(), game.ply(), game.fen()), (root.key(), root.ply(), root.fen()));
            assert_eq!(game.last_move(), root.last_move());
        }
        game.play(game.parse_uci("f6g8").unwrap());
        assert_eq!(game.repetitions(), 1);
    }

    #[test]
    fn lost_castling_rights_make_a_new_position() {
        let game = played(Some("4k3/8/8/8/8/8/8/4K2R w K - 0 1"), "e1e2 e8e7 e2e1 e7e8");
        assert_eq!(game.repetitions(), 0);
    }

    #[test]
    fn an_en_passant_right_makes_a_new_position_only_if_it_can_be_used() {
        // No capture on e3 is possible, so the position repeats.
        assert_eq!(played(None, "e2e4 g8f6 g1f3 f6g8 f3g1").repetitions(), 1);
        // Black can capture en passant the first time only.
        let fen = "rnbqkbnr/ppp1pppp/8/8/3p4/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert_eq!(played(Some(fen), "e2e4 g8f6 g1f3 f6g8 f3g1").repetitions(), 0);
    }

    #[test]
    fn a_pawn_move_ends_the_search_for_repetitions() {
        assert_eq!(played(None, "g1f3 g8f6 f3g1 f6g8 e2e3 e7e6").repetitions(), 0);
    }

    #[test]
    fn fifty_moves_is_a_hundred_plies_and_mate_comes_first() {
        let game = played(Some("7k/8/8/8/8/8/R7/K7 w - - 98 80"), "a2a3");
        assert_eq!(game.outcome(), None);
        let game = played(Some("7k/8/8/8/8/8/R7/K7 w - - 99 80"), "a2a3");
        assert_eq!(game.outcome(), Some(Outcome::Draw(DrawReason::FiftyMoves)));
        let game = played(Some("7k/8/6K1/8/8/8/R7/8 w - - 99 80"), "a2a8");
        assert_eq!(game.outcome(), Some(Outcome::Decisive { winner: Color::White }));
    }

    #[test]
    fn dead_positions_and_stalemate() {
        let outcome = |fen| Game::from_fen(fen).unwrap().outcome();
        assert_eq!(
            outcome("8/8/4k3/8/8/3BK3/8/8 w - - 0 1"),
            Some(Outcome::Draw(DrawReason::InsufficientMaterial))
        );
        assert_eq!(outcome("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), Some(Outcome::Draw(DrawReason::Stalemate)));
        assert_eq!(outcome("8/8/4k3/8/8/3NK3/8/5N2 w - - 0 1"), None);
    }

    #[test]
    fn a_legal_move_is_known_without_generating_all() {
        let has = |fen: &str| {
            let game = Game::from_fen(fen).unwrap();
            assert_eq!(game.has_legal_move(), !game.legal_moves().is_empty(), "{fen}");
            (game.has_obvious_move(), game.has_legal_move())
        };
        assert_eq!(has("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), (true, true));
        // Stalemates: no other piece; a pinned knight; a blocked pawn.
        assert_eq!(has("8/8/8/8/8/1k6/1p6/1K6 w - - 0 1"), (false, false));
        assert_eq!(has("k7/8/8/8/8/5q2/6r1/r4N1K w - - 0 1"), (false, false));
        assert_eq!(has("8/8/8/8/5p2/5Pk1/5q2/7K w - - 0 1"), (false, false));
        // Only the king can move: beside a pinned knight, and out of check.
        assert_eq!(has("7k/8/8/8/8/8/8/rN1K4 w - - 0 1"), (false, true));
        assert_eq!(has("k7/8/8/8/5b2/8/5r2/r2N1K2 w - - 0 1"), (false, true));
        assert_eq!(has("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 0 1"), (false, false));
        assert_eq!(has("6rk/5Npp/8/8/8/8/8/6K1 b - - 0 1"), (false, false));
    }

    proptest! {
        #[test]
        fn games_at_random_have_a_legal_move_when_one_is_generated(choices in vec(any::<u8>(), 200)) {
            let mut game = Game::new();
            for choice in choices {
                let moves = game.legal_moves();
                prop_assert_eq!(game.has_legal_move(), !moves.is_empty());
                prop_assert!(!(game.has_obvious_move() && moves.is_empty()));
                let Some(m) = moves.get(usize::from(choice) % moves.len().max(1)) else { break };
                game.play(*m);
            }
        }
    }

    #[test]
    fn castling_in_both_notations() {
        let game = Game::from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").unwrap();
        let castle = game.parse_uci("e1g1").unwrap();
        assert_eq!(game.parse_uci("e1h1"), Ok(castle));
        assert_eq!(Game::uci(castle, false), "e1g1");
        assert_eq!(Game::uci(castle, true), "e1h1");
        let game = Game::from_fen("1r3k1r/8/8/8/8/8/8/1R3K1R w HBhb - 0 1").unwrap();
        let castle = game.parse_uci("f1b1").unwrap();
        assert_eq!(Game::uci(castle, false), "f1b1", "no e1c1 for a king on f1");
    }

    /// Double Chess960: the sides start with kings and rooks on different files.
    #[test]
    fn sides_may_castle_from_different_squares() {
        let mut game = Game::from_fen("1r2k2r/pppppppp/8/8/8/8/PPPPPPPP/R4KR1 w GAhb - 0 1").unwrap();
        let castles = |game: &Game| {
            let moves = game.legal_moves();
            let mut castles: Vec<String> =
                moves.iter().filter(|m| m.is_castle()).map(|m| Game::uci(*m, false)).collect();
            castles.sort();
            castles
        };
        assert_eq!(castles(&game), ["f1a1", "f1g1"]);
        game.play(game.parse_uci("f1a1").unwrap());
        assert!(game.fen().contains("/2KR2R1 b "), "{}", game.fen());
        assert_eq!(castles(&game), ["e8b8", "e8g8"]);
        game.play(game.parse_uci("e8h8").unwrap());
        assert!(game.fen().starts_with("1r3rk1/"), "{}", game.fen());
    }

    #[test]
    fn bad_fens_and_moves_are_errors() {
        for fen in [
            "",
            "hello",
            "8/8/8/8/8/8/8/8 w - - 0 1",
            "4k3/8/8/8/8/8/8/4K3 x - - 0 1",
            "4k2P/8/8/8/8/8/8/4K3 w - - 0 1",
        ] {
            assert!(Game::from_fen(fen).is_err(), "{fen}");
        }
        assert!(Game::from_fen("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1").is_err(), "the king could be captured");
        assert!(matches!(Game::new().parse_uci("e2e5"), Err(PositionError::Illegal(_))));
        assert!(matches!(Game::new().parse_uci("castles"), Err(PositionError::Notation(_))));
        assert!(Game::from_fen("4k3/8/8/8/8/8/8/4K3 w - -").is_ok(), "four fields");
    }
}
