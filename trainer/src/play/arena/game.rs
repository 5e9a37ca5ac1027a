use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use engine::chess::position::{Game, PackedMove};
use engine::chess::tables::Tables;
use engine::nets::eval::Evaluator;
use engine::search::players::Player;
use engine::search::{Limits, Params, SteppedSearch};
use shakmaty::Color;

use super::contender::classical_move;
use crate::base::network::search_alone;
use crate::base::progress::count_ply;
use crate::config::MatchRules;
use crate::config::tree_memory;
use crate::data::record::{FLAG_ADJUDICATED, GameRecord, GameResult, RngStream, stream_rng};
use crate::play::gameplay::{BatchedGame, IsStopped, Next, known_result, live};

#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// Evaluator index and visits.
    Search(usize, u64),
    /// Depth or rollouts.
    Classical(Player, u64),
}

pub struct MatchSetup {
    pub sides: [Side; 2],
    pub rules: MatchRules,
    pub params: [Params; 2],
    pub tables: Tables,
    pub seed: u64,
}

#[derive(Clone, Debug)]
pub struct FinishedMatchGame {
    /// Games 2n and 2n + 1 share an opening. The first player has White in game 2n.
    pub number: u64,
    pub game: GameRecord,
}

impl FinishedMatchGame {
    pub fn halves(&self) -> u8 {
        halves_of(self.number, &self.game)
    }
}

/// 0 to 2.
pub fn halves_of(number: u64, game: &GameRecord) -> u8 {
    match game.result.winner() {
        None => 1,
        Some(winner) => 2 * u8::from(winner == first_players_colour(number)),
    }
}

/// Checks that a replayed game ends where and as the rules say. Resignations are not checked, because matches store no
/// searches.
pub fn check_match_game(rules: &MatchRules, tables: &Tables, stored: &GameRecord) -> Result<()> {
    let mut game = Game::from_fen(&stored.start_fen())?;
    let plies = stored.moves.len();
    for (ply, packed) in stored.moves.iter().enumerate() {
        let is_over = known_result(&game, tables).is_some() || ply >= rules.max_plies;
        ensure!(!is_over, "it was over after {ply} plies, and has {plies}");
        game.play(packed.to_legal_move(game.position()));
    }
    let cut = || (plies >= rules.max_plies).then_some((GameResult::Draw, FLAG_ADJUDICATED));
    let found = (stored.result, stored.flags);
    match known_result(&game, tables).or_else(cut) {
        Some(expected) => ensure!(found == expected, "it ends as {found:?}, expected {expected:?}"),
        None => {
            let resigned = rules.resign_threshold < 1.0
                && stored.result.winner().is_some()
                && stored.flags == FLAG_ADJUDICATED;
            ensure!(resigned, "it is not over after its {plies} plies");
        }
    }
    Ok(())
}

/// Repeats the search at `ply` of a stored game. Fails if the game is over there or the player does not search.
pub fn search_match_again(
    setup: Arc<MatchSetup>,
    number: u64,
    stored: &GameRecord,
    ply: usize,
    evaluator: &mut dyn Evaluator,
) -> Result<PackedMove> {
    let mut again = MatchGame::new(setup, number, stored.start.clone());
    for packed in &stored.moves[..ply] {
        again.game.play(packed.to_legal_move(again.game.position()));
        again.record.moves.push(*packed);
    }
    let searches = matches!(again.setup.sides[again.player()], Side::Search(..));
    if !searches || matches!(again.advance(&|| false), Next::Over(_)) {
        bail!("there is no search at ply {ply}");
    }
    search_alone(&mut again.solo, 1, evaluator)?;
    again.found().map(PackedMove::new).context("no move")
}

fn first_players_colour(number: u64) -> Color {
    if number.is_multiple_of(2) { Color::White } else { Color::Black }
}

pub struct MatchGame {
    setup: Arc<MatchSetup>,
    number: u64,
    game: Game,
    record: GameRecord,
    solo: SteppedSearch,
    searching: bool,
    /// Consecutive positions that White and Black each evaluated as lost.
    lost: [usize; 2],
}

impl MatchGame {
    /// The game must not be over in `start`.
    pub fn new(setup: Arc<MatchSetup>, number: u64, start: Option<String>) -> MatchGame {
        let record = GameRecord { start, ..GameRecord::default() };
        let game = Game::from_fen(&record.start_fen()).expect("a checked start position");
        let visits =
            setup.sides.iter().map(|side| if let Side::Search(_, visits) = side { *visits } else { 0 });
        let solo = SteppedSearch::new(setup.tables.clone(), tree_memory(visits.max().unwrap_or(0)));
        MatchGame { setup, number, game, record, solo, searching: false, lost: [0; 2] }
    }

    fn player(&self) -> usize {
        usize::from(self.game.turn() != first_players_colour(self.number))
    }

    fn play(&mut self, m: shakmaty::Move) {
        self.record.moves.push(PackedMove::new(m));
        count_ply();
        let mut players = ["network in training", "opponent"];
        if first_players_colour(self.number).is_black() {
            players.reverse();
        }
        live::moved(self.number, players, &self.game, m, self.record.moves.len());
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

    fn found(&self) -> Option<shakmaty::Move> {
        let tree = self.solo.tree();
        tree.best().or(tree.root_moves().first().copied())
    }

    /// Counts, after a search, consecutive lost positions of the side to move.
    fn count_lost(&mut self) {
        let q = -self.solo.tree().root().q;
        let lost = &mut self.lost[usize::from(self.game.turn().is_black())];
        *lost = if q < -self.setup.rules.resign_threshold { *lost + 1 } else { 0 };
    }
}

impl BatchedGame for MatchGame {
    type Outcome = FinishedMatchGame;

    fn advance(&mut self, stop: IsStopped<'_>) -> Next<FinishedMatchGame> {
        if std::mem::take(&mut self.searching) {
            self.count_lost();
            let m = self.found().expect("the game is not over");
            self.play(m);
        }
        loop {
            if let Some((result, flags)) = self.end() {
                let game = GameRecord { result, flags, ..std::mem::take(&mut self.record) };
                return Next::Over(FinishedMatchGame { number: self.number, game });
            }
            match self.setup.sides[self.player()] {
                Side::Search(evaluator, visits) => {
                    let limits = Limits { visits: Some(visits), ..Limits::default() };
                    self.solo.start(&self.game, limits, self.setup.params[self.player()].clone());
                    self.searching = true;
                    return Next::Search(evaluator);
                }
                Side::Classical(player, effort) => {
                    let ply = self.record.moves.len() as u64;
                    let seed = stream_rng(RngStream::Classical, self.setup.seed, self.number, ply).u64(..);
                    let m = classical_move(player, effort, &self.game, seed, stop);
                    // A move of a search that was cut short would depend on time.
                    if stop() {
                        return Next::Stopped;
                    }
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
