//! One game of a match in progress.

use std::sync::Arc;

use engine::players::Player;
use engine::position::{Game, PackedMove};
use engine::search::{Limits, SteppedSearch};
use engine::tables::Tables;
use shakmaty::Color;

use super::contender::classical_move;
use crate::config::MatchRules;
use crate::config::tree_memory;
use crate::gameplay::{BatchedGame, Next, known_result};
use crate::record::{FLAG_ADJUDICATED, GameRecord, GameResult, RngStream, stream_rng};

/// How one side of a match finds its moves.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// By a search with the evaluator of this index and this number of visits.
    Search(usize, u64),
    /// By a classical player with this depth or number of rollouts.
    Classical(Player, u64),
}

/// What all games of a match share.
pub struct MatchSetup {
    /// The two players.
    pub sides: [Side; 2],
    /// How the games are played.
    pub rules: MatchRules,
    /// Endgame tables that adjudicate.
    pub tables: Tables,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// A finished game of a match.
#[derive(Clone, Debug)]
pub struct FinishedMatchGame {
    /// The game's number: games 2 n and 2 n + 1 share an opening; the first player has White in the even one.
    pub number: u64,
    /// The game.
    pub game: GameRecord,
}

impl FinishedMatchGame {
    /// The first player's points, in halves.
    pub fn halves(&self) -> u8 {
        match self.game.result.winner() {
            None => 1,
            Some(winner) => 2 * u8::from(winner == first_players_colour(self.number)),
        }
    }
}

/// Which colour the first player has.
fn first_players_colour(number: u64) -> Color {
    if number.is_multiple_of(2) { Color::White } else { Color::Black }
}

/// A game of a match in progress.
pub struct MatchGame {
    setup: Arc<MatchSetup>,
    number: u64,
    game: Game,
    record: GameRecord,
    solo: SteppedSearch,
    searching: bool,
    /// Consecutive positions that each side has evaluated as lost: White, Black.
    lost: [usize; 2],
}

impl MatchGame {
    /// Game `number` from a start position in which the game is not over.
    pub fn new(setup: Arc<MatchSetup>, number: u64, start: Option<String>) -> MatchGame {
        let record = GameRecord { start, ..GameRecord::default() };
        let game = Game::from_fen(&record.start_fen()).expect("a checked start position");
        let visits =
            setup.sides.iter().map(|side| if let Side::Search(_, visits) = side { *visits } else { 0 });
        let solo = SteppedSearch::new(setup.tables.clone(), tree_memory(visits.max().unwrap_or(0)));
        MatchGame { setup, number, game, record, solo, searching: false, lost: [0; 2] }
    }

    /// The side to move.
    fn side(&self) -> Side {
        let first = self.game.turn() == first_players_colour(self.number);
        self.setup.sides[usize::from(!first)]
    }

    fn play(&mut self, m: shakmaty::Move) {
        self.record.moves.push(PackedMove::new(m));
        self.game.play(m);
    }

    fn end(&self) -> Option<(GameResult, u16)> {
        if let Some(end) = known_result(&self.game, &self.setup.tables) {
            return Some(end);
        }
        if let Some(side) = self.lost.iter().position(|lost| *lost >= self.setup.rules.resign_moves) {
            let winner = if side == 0 { Color::Black } else { Color::White };
            return Some((GameResult::won_by(winner), FLAG_ADJUDICATED));
        }
        (self.record.moves.len() >= self.setup.rules.max_plies)
            .then_some((GameResult::Draw, FLAG_ADJUDICATED))
    }

    /// Counts the mover's consecutive lost positions, by the finished search.
    fn count_lost(&mut self) {
        let q = -self.solo.tree().root().q;
        let lost = &mut self.lost[usize::from(self.game.turn().is_black())];
        *lost = if q < -self.setup.rules.resign_threshold { *lost + 1 } else { 0 };
    }
}

impl BatchedGame for MatchGame {
    type Outcome = FinishedMatchGame;

    fn advance(&mut self) -> Next<FinishedMatchGame> {
        if std::mem::take(&mut self.searching) {
            self.count_lost();
            let tree = self.solo.tree();
            let m = tree.best().or(tree.root_moves().first().copied()).expect("the game is not over");
            self.play(m);
        }
        loop {
            if let Some((result, flags)) = self.end() {
                let game = GameRecord { result, flags, ..std::mem::take(&mut self.record) };
                return Next::Over(FinishedMatchGame { number: self.number, game });
            }
            match self.side() {
                Side::Search(evaluator, visits) => {
                    let limits = Limits { visits: Some(visits), ..Limits::default() };
                    self.solo.start(&self.game, limits, self.setup.rules.params());
                    self.searching = true;
                    return Next::Search(evaluator);
                }
                Side::Classical(player, effort) => {
                    let ply = self.record.moves.len() as u64;
                    let seed = stream_rng(RngStream::Classical, self.setup.seed, self.number, ply).u64(..);
                    let m = classical_move(player, effort, &self.game, seed);
                    let m = m.or(self.game.legal_moves().first().copied()).expect("the game is not over");
                    self.play(m);
                }
            }
        }
    }

    fn solo(&mut self) -> &mut SteppedSearch {
        &mut self.solo
    }

    fn search(&self) -> &SteppedSearch {
        &self.solo
    }
}
