mod invented_past;
pub(crate) mod puzzle;
mod phase;
mod value;
mod encoded;

use engine::chess::position::{Game, PackedMove};
use engine::nets::encoding::{Input, Policy, PolicyIndex, planes72};
use fastrand::Rng;
use shakmaty::{Move, Position};

use crate::data::record::{DamagedGame, GameView};

pub use encoded::EncodedInput;
pub use phase::Phase;
pub use value::ValueTarget;

#[derive(Clone, Debug)]
pub struct Sample {
    pub input: EncodedInput,
    /// One bit per policy index: index `64·w + b` is bit `b` of word `w`.
    pub legal: Vec<u64>,
    /// The move played, or the move with the largest share.
    pub policy: PolicyIndex,
    /// Moves of a search with shares that sum to one. Empty if the target is the move played.
    pub shares: Vec<(PolicyIndex, f32)>,
    /// Whether the move played captures, promotes or gives check.
    pub tactical: bool,
    pub game: Game,
    /// WDL target for the side to move; all zero if none.
    pub wdl: [f32; 3],
    /// Game result as WDL for the side to move; all zero if unknown.
    pub result: [f32; 3],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleOptions {
    pub input: Input,
    pub policy: Policy,
    pub target: ValueTarget,
    /// Share of samples that keep at most two of the three previous boards. Otherwise only puzzles would lack history,
    /// and a network would take its absence for a sign of tactics.
    pub history_dropout: f64,
}

/// For residual networks.
impl Default for SampleOptions {
    fn default() -> Self {
        let target = ValueTarget::default();
        SampleOptions { input: Input::Planes72, policy: Policy::Az4672, target, history_dropout: 0.0 }
    }
}

impl GameView<'_> {
    /// Sample of the position before `ply`, with random numbers from `seed`. Panics if there is no such ply.
    pub fn sample(&self, ply: usize, options: &SampleOptions, seed: u64) -> Result<Sample, DamagedGame> {
        let mut rng = Rng::with_seed(seed);
        let initial = match self.start {
            Some(fen) if self.puzzle => puzzle::with_context(fen, &mut rng),
            _ => self.initial(),
        };
        let mut game = initial.map_err(|_| DamagedGame { ply: 0 })?;
        for packed in &self.moves[..ply] {
            let m = PackedMove(*packed).to_legal_move(game.position());
            game.play(m);
        }
        let moves = game.legal_moves();
        let played = PackedMove(self.moves[ply]).to_legal_move(game.position());
        if !moves.contains(&played) {
            return Err(DamagedGame { ply });
        }
        let turn = game.position().turn();
        let mut legal = vec![0; options.policy.size().div_ceil(64)];
        for m in &moves {
            let index = options.policy.index(turn, *m).offset();
            legal[index / 64] |= 1 << (index % 64);
        }
        let drops_history = rng.f64() < options.history_dropout;
        let boards = drops_history.then(|| rng.usize(..planes72::HISTORY - 1));
        let input = EncodedInput::new(options.input, &game, &moves, boards);
        let wdl = match self.searches.wdl(ply) {
            Some(searched) => options.target.for_mover_searched(turn, self.result, searched),
            None => options.target.for_mover(turn, self.result, self.evals.get(ply).copied()),
        };
        let result = ValueTarget::RESULT.for_mover(turn, self.result, None).unwrap_or_default();
        let shares = self.shares(ply, &game, &moves, options.policy)?;
        let greatest = shares.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| *index);
        let tactical = played.is_capture() || played.is_promotion() || gives_check(&game, played);
        let (policy, wdl) = (greatest.unwrap_or(options.policy.index(turn, played)), wdl.unwrap_or_default());
        Ok(Sample { input, legal, policy, shares, tactical, game, wdl, result })
    }

    /// `game` stands at `ply`.
    fn shares(
        &self,
        ply: usize,
        game: &Game,
        legal: &[Move],
        scheme: Policy,
    ) -> Result<Vec<(PolicyIndex, f32)>, DamagedGame> {
        let total: f32 = self.searches.shares(ply).map(|(_, share)| f32::from(share)).sum();
        let share = |(packed, share): (u16, u16)| {
            let m = PackedMove(packed).to_legal_move(game.position());
            if !legal.contains(&m) {
                return Err(DamagedGame { ply });
            }
            Ok((scheme.index(game.turn(), m), f32::from(share) / total))
        };
        self.searches.shares(ply).map(share).collect()
    }
}

fn gives_check(game: &Game, m: Move) -> bool {
    let mut after = game.position().clone();
    after.play_unchecked(m);
    after.is_check()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::nets::encoding::az4672;

    fn packed(moves: &str) -> Vec<u16> {
        let mut game = Game::new();
        let pack = |text: &str| {
            let m = game.parse_uci(text).unwrap();
            game.play(m);
            PackedMove::new(m).0
        };
        moves.split_whitespace().map(pack).collect()
    }

    #[test]
    fn a_sample_is_the_position_before_its_ply() {
        let moves = packed("e2e4 e7e5 g1f3");
        let replay = GameView { moves: &moves, result: 1, ..GameView::default() };
        let sample = replay.sample(1, &SampleOptions::default(), 0).unwrap();
        let mut game = Game::new();
        game.play(game.parse_uci("e2e4").unwrap());
        let planes = planes72::encode(&game);
        assert_eq!(
            (&sample.input.masks[..], &sample.input.scalars[..]),
            (&planes.masks[..], &planes.scalars[..])
        );
        assert_eq!(sample.policy, az4672::index(game.turn(), game.parse_uci("e7e5").unwrap()));
        assert_eq!(sample.wdl, [0.0, 0.0, 1.0], "White won, Black is to move");
        assert_eq!(sample.legal.iter().map(|word| word.count_ones()).sum::<u32>(), 20);
        let index = sample.policy.offset();
        assert_eq!(sample.legal[index / 64] >> (index % 64) & 1, 1, "the move played is legal");
    }

    #[test]
    fn a_damaged_game_is_an_error() {
        let mut moves = packed("e2e4 e7e5");
        moves[1] = 12 | 28 << 6; // e2e4 again
        let replay = GameView { moves: &moves, ..GameView::default() };
        assert_eq!(replay.sample(1, &SampleOptions::default(), 0).err(), Some(DamagedGame { ply: 1 }));
        let bad_start = GameView { start: Some("nonsense"), ..replay };
        assert_eq!(bad_start.sample(0, &SampleOptions::default(), 0).err(), Some(DamagedGame { ply: 0 }));
    }

    #[test]
    fn a_puzzle_has_targets_for_the_solvers_moves_and_no_result() {
        let fen = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 0 1";
        let moves = [39 | 53 << 6];
        let puzzle = GameView { start: Some(fen), moves: &moves, puzzle: true, ..GameView::default() };
        let sample = |seed| puzzle.sample(0, &SampleOptions::default(), seed).unwrap();
        assert_eq!((sample(1).wdl, sample(1).result), ([0.0; 3], [0.0; 3]), "no value target");
        assert_eq!(sample(1).input, sample(1).input);
        let numbers: std::collections::HashSet<u32> =
            (0..50).map(|seed| (sample(seed).input.scalars[0] * 200.0).round() as u32).collect();
        assert!(numbers.len() > 3, "move numbers vary: {numbers:?}");
        let long = GameView { moves: &[0; 5], ..puzzle };
        assert_eq!((long.targets(), long.target_ply(2)), (3, 4));
        assert_eq!(GameView { puzzle: false, ..long }.targets(), 5);
    }

    #[test]
    fn recorded_positions_of_self_play_are_targets_with_shares_and_values() {
        let moves = packed("e2e4 e7e5 g1f3 b8c6");
        let mut columns = crate::data::record::SearchColumns::default();
        // The search prefers d7d5 to the move played, e7e5.
        let [d7d5, e7e5, b8c6] = [51 | 35 << 6, 52 | 36 << 6, 57 | 42 << 6];
        columns.pad(1);
        columns.push(-16384, 32768, [(d7d5, 39321), (e7e5, 26214)].into_iter());
        columns.pad(3);
        columns.push(0, 0, [(b8c6, 65535)].into_iter());
        let replay =
            GameView { moves: &moves, result: 1, searches: columns.get(0..4), ..GameView::default() };
        assert_eq!((replay.targets(), replay.target_ply(0), replay.target_ply(1)), (2, 1, 3));
        let target = ValueTarget { lambda: 0.0 };
        let sample = replay.sample(1, &SampleOptions { target, ..SampleOptions::default() }, 0).unwrap();
        let index = |text: &str| {
            let mut game = Game::new();
            game.play(game.parse_uci("e2e4").unwrap());
            az4672::index(game.turn(), game.parse_uci(text).unwrap())
        };
        assert_eq!(sample.policy, index("d7d5"), "the most visited");
        let [first, second] = sample.shares[..] else { panic!("two moves") };
        assert_eq!((first.0, second.0), (index("d7d5"), index("e7e5")));
        assert!((first.1 - 0.6).abs() < 1e-4 && (second.1 - 0.4).abs() < 1e-4);
        // Draw probability one half and q −0.5 for Black: no wins.
        for (got, expected) in sample.wdl.into_iter().zip([0.0, 0.5, 0.5]) {
            assert!((got - expected).abs() < 1e-3, "{:?}", sample.wdl);
        }
        let blended = SampleOptions { target: ValueTarget { lambda: 0.5 }, ..SampleOptions::default() };
        let sample = replay.sample(1, &blended, 0).unwrap();
        assert!((sample.wdl[2] - 0.75).abs() < 1e-3, "and White won: {:?}", sample.wdl);
        assert_eq!(sample.result, [0.0, 0.0, 1.0], "independent of the search");
        let mut illegal = columns.clone();
        illegal.moves[0] = 12 | 28 << 6;
        let replay = GameView { searches: illegal.get(0..4), ..replay };
        assert_eq!(replay.sample(1, &SampleOptions::default(), 0).err(), Some(DamagedGame { ply: 1 }));
    }

    #[test]
    fn history_dropout_removes_previous_boards_at_its_rate_and_nothing_else() {
        let moves = packed("e2e4 e7e5 g1f3 b8c6 f1b5");
        let replay = GameView { moves: &moves, result: 1, ..GameView::default() };
        let options = SampleOptions { history_dropout: 0.3, ..SampleOptions::default() };
        let whole = replay.sample(4, &SampleOptions::default(), 0).unwrap();
        let mut boards = [0; planes72::HISTORY];
        for seed in 0..1000 {
            let sample = replay.sample(4, &options, seed).unwrap();
            let known = (1..planes72::HISTORY).filter(|age| sample.input.masks[12 * age] != 0).count();
            boards[known] += 1;
            assert_eq!(sample.input.masks[..12], whole.input.masks[..12]);
            assert_eq!(sample.input.masks[48..], whole.input.masks[48..]);
            assert_eq!((&sample.legal, sample.policy), (&whole.legal, whole.policy));
        }
        assert!((600..800).contains(&boards[3]) && boards[..3].iter().all(|n| *n > 50), "{boards:?}");
    }
}
