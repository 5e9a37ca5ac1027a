//! Where gathered leaves become positions: replayed from the root, told apart, kept until they are answered for.

use shakmaty::MoveList;

use super::Tree;
use super::params::Params;
use super::step::{Expansion, Leaf, Ticket, finished};
use crate::eval::{Answer, Request};
use crate::position::Game;
use crate::tables::Tables;

/// What the positions of a search are reached from.
pub(super) struct Site<'a> {
    pub root: &'a Game,
    pub root_moves: &'a MoveList,
    pub params: &'a Params,
    pub tables: &'a Tables,
}

/// A ticket with the position it leads to: game number `game` of the desk's.
pub(super) struct Open {
    pub ticket: Ticket,
    pub moves: MoveList,
    game: usize,
}

/// Positions that wait for their evaluation; the memory of their games is used again from round to round.
#[derive(Default)]
pub(super) struct Desk {
    games: Vec<Game>,
    pub open: Vec<Open>,
}

impl Desk {
    /// Plays each ticket's moves from the root, each in a game of its own behind the open ones. Needs no tree.
    pub fn replay(&mut self, site: &Site<'_>, tickets: Vec<Ticket>) -> Vec<(Open, Option<Leaf>)> {
        let first = self.open.len();
        if self.games.len() < first + tickets.len() {
            self.games.resize_with(first + tickets.len(), Game::new);
        }
        let mut reached = Vec::with_capacity(tickets.len());
        for (ticket, number) in tickets.into_iter().zip(first..) {
            let game = &mut self.games[number];
            game.clone_from(site.root);
            ticket.replay(game);
            // The root is searched whatever the rules say of it: a move is wanted.
            let (moves, end) = if ticket.plies() == 0 {
                (site.root_moves.clone(), None)
            } else {
                let legal = game.legal_moves();
                let repeatable = if site.params.twofold_draws { ticket.plies() } else { 0 };
                let known = |game: &Game| {
                    let deep = ticket.plies() >= site.tables.rules().depth;
                    deep.then(|| site.tables.wdl(game)).flatten().map(Leaf::Table)
                };
                let end = finished(game, &legal, repeatable).or_else(|| known(game));
                (legal, end)
            };
            reached.push((Open { ticket, moves, game: number }, end));
        }
        reached
    }

    /// Applies what needs no evaluation, and keeps the rest open.
    pub fn settle(&mut self, tree: &mut Tree, reached: Vec<(Open, Option<Leaf>)>) {
        for (open, end) in reached {
            if let Some(end) = end {
                tree.apply(open.ticket, end);
                continue;
            }
            if let Some(ticket) = tree.identify(open.ticket, self.games[open.game].key()) {
                // The open ones' games stand at the front, so that they can be used again behind.
                let number = self.open.len();
                self.games.swap(number, open.game);
                self.open.push(Open { ticket, moves: open.moves, game: number });
            }
        }
    }

    /// What is to be evaluated, in the order of [`Desk::open`].
    pub fn requests(&self) -> impl ExactSizeIterator<Item = Request<'_>> {
        self.open.iter().map(|open| Request { game: &self.games[open.game], moves: &open.moves })
    }

    /// The open tickets with what they turn out to be; nothing is open then. Needs no tree.
    pub fn expand<'a>(
        &mut self,
        answers: &'a [Answer],
        temperature: f32,
    ) -> impl Iterator<Item = (Ticket, Expansion)> + use<'_, 'a> {
        let answered = self.open.drain(..).zip(answers);
        answered.map(move |(open, answer)| (open.ticket, Expansion::new(&open.moves, answer, temperature)))
    }

    /// Gives the open tickets back: nothing has happened.
    pub fn cancel(&mut self, tree: &mut Tree) {
        self.open.drain(..).for_each(|open| tree.cancel(open.ticket));
    }
}
