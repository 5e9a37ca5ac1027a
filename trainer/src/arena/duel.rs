//! One game of a match, in progress.

use std::sync::Arc;

use engine::baseline::Player;
use engine::position::{Game, PackedMove};
use engine::search::{Limits, Solo};
use engine::tables::Tables;
use shakmaty::Color;

use super::contender::classical_move;
use crate::config::MatchRules;
use crate::gameplay::{Next, Sitting, known_end};
use crate::record::{FLAG_ADJUDICATED, GameRecord, GameResult, RngStream, stream_rng};

/// How a side finds its moves.
#[derive(Clone, Copy, Debug)]
pub enum Mind {
    /// By a search with the evaluator of this number and so many visits.
    Search(usize, u64),
    /// By a classical player who thinks so long.
    Classical(Player, u64),
}

/// What the games of a match have in common.
pub struct Ring {
    /// The two players.
    pub minds: [Mind; 2],
    /// How they play.
    pub rules: MatchRules,
    /// What is known of endgames.
    pub tables: Tables,
    /// Where the dice begin.
    pub seed: u64,
}

/// A game that is over.
#[derive(Clone, Debug)]
pub struct Played {
    /// Its number: an opening's first game is even, the first player has White there.
    pub number: u64,
    /// The game.
    pub game: GameRecord,
}

impl Played {
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

/// A game in progress.
pub struct Duel {
    ring: Arc<Ring>,
    number: u64,
    game: Game,
    record: GameRecord,
    solo: Solo,
    searching: bool,
    /// Positions in a row that each side has found lost, White's first.
    lost: [usize; 2],
}

impl Duel {
    /// GameRecord `number` from a start, which isn't the end of a game.
    pub fn new(ring: Arc<Ring>, number: u64, start: Option<String>) -> Duel {
        let record = GameRecord { start, ..GameRecord::default() };
        let game = Game::from_fen(&record.start_fen()).expect("a start that was checked");
        let visits =
            ring.minds.iter().map(|mind| if let Mind::Search(_, visits) = mind { *visits } else { 0 });
        let memory = (1 << 18) + 1024 * visits.max().unwrap_or(0) as usize;
        let solo = Solo::new(ring.tables.clone(), memory);
        Duel { ring, number, game, record, solo, searching: false, lost: [0; 2] }
    }

    /// Who is to move.
    fn mind(&self) -> Mind {
        let first = self.game.turn() == first_players_colour(self.number);
        self.ring.minds[usize::from(!first)]
    }

    fn play(&mut self, m: shakmaty::Move) {
        self.record.moves.push(PackedMove::new(m));
        self.game.play(m);
    }

    fn end(&self) -> Option<(GameResult, u16)> {
        if let Some(end) = known_end(&self.game, &self.ring.tables) {
            return Some(end);
        }
        if let Some(side) = self.lost.iter().position(|lost| *lost >= self.ring.rules.resign_moves) {
            let winner = if side == 0 { Color::Black } else { Color::White };
            return Some((GameResult::won_by(winner), FLAG_ADJUDICATED));
        }
        (self.record.moves.len() >= self.ring.rules.max_plies).then_some((GameResult::Draw, FLAG_ADJUDICATED))
    }

    /// Takes note of what a search thinks of the mover's chances.
    fn judge(&mut self) {
        let q = -self.solo.tree().root().q;
        let lost = &mut self.lost[usize::from(self.game.turn().is_black())];
        *lost = if q < -self.ring.rules.resign_threshold { *lost + 1 } else { 0 };
    }
}

impl Sitting for Duel {
    type Outcome = Played;

    fn advance(&mut self) -> Next<Played> {
        if std::mem::take(&mut self.searching) {
            self.judge();
            let tree = self.solo.tree();
            let m = tree.best().or(tree.root_moves().first().copied()).expect("the game isn't over");
            self.play(m);
        }
        loop {
            if let Some((result, flags)) = self.end() {
                let game = GameRecord { result, flags, ..std::mem::take(&mut self.record) };
                return Next::Over(Played { number: self.number, game });
            }
            match self.mind() {
                Mind::Search(evaluator, visits) => {
                    let limits = Limits { visits: Some(visits), ..Limits::default() };
                    self.solo.start(&self.game, limits, self.ring.rules.params());
                    self.searching = true;
                    return Next::Search(evaluator);
                }
                Mind::Classical(player, effort) => {
                    let ply = self.record.moves.len() as u64;
                    let seed = stream_rng(RngStream::Classical, self.ring.seed, self.number, ply).u64(..);
                    let m = classical_move(player, effort, &self.game, seed);
                    let m = m.or(self.game.legal_moves().first().copied()).expect("the game isn't over");
                    self.play(m);
                }
            }
        }
    }

    fn solo(&mut self) -> &mut Solo {
        &mut self.solo
    }

    fn search(&self) -> &Solo {
        &self.solo
    }
}
