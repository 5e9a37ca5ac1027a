//! Explanations in words.

use std::fmt::Write;

use shakmaty::Role;

use super::facts::{GivenUp, LikelyResult, Trade};
use super::{Explanation, MoveExplanation};
use crate::position::Game;
use crate::review::numbered;

/// An explanation as text for a terminal.
pub fn text(game: &Game, explanation: &Explanation) -> String {
    let mover = side(game, true);
    let mut text = format!("{}\n{mover} to move.\n", explanation.fen);
    if let Some(asked) = &explanation.asked {
        let _ = writeln!(text, "\n{}", asked.words);
        let _ = writeln!(text, "  {}", numbered(game.position(), &asked.line));
    }
    text += "\nThe best moves:\n";
    for explained in &explanation.best {
        let _ = writeln!(text, "\n{}\n  {}", explained.words, numbered(game.position(), &explained.line));
    }
    text
}

/// A move in words: what it is worth, what it gives up, what answers it.
pub(super) fn of_move(game: &Game, explained: &MoveExplanation, is_best: bool, trade: &Trade) -> String {
    let mut sentences = vec![worth(game, explained, is_best)];
    sentences.extend(explained.gives_up.iter().filter_map(|given| gives_up(game, *given)));
    if explained.mate.is_none() {
        sentences.extend(exchanged(game, trade));
    }
    if explained.mark.is_some() {
        sentences.extend(answer(game, explained));
    }
    sentences.join(" ")
}

fn worth(game: &Game, explained: &MoveExplanation, is_best: bool) -> String {
    let (us, them) = (side(game, true), side(game, false));
    let MoveExplanation { san, win_probability, loss, .. } = explained;
    let mark = explained.mark.unwrap_or_default();
    match (explained.mate, is_best) {
        (Some(_), _) if san.ends_with('#') => format!("{san} is checkmate."),
        (Some(moves), _) if moves > 0 => format!("{san}: {us} mates in {moves}."),
        (Some(moves), _) => format!("{san}{mark}: {them} mates in {}.", -moves),
        (None, true) => {
            format!("{san} is the best move found: {us}'s win probability is {win_probability:.0} %.")
        }
        (None, false) => {
            let kind = match mark {
                "??" => " is a blunder",
                "?" => " is a mistake",
                "?!" => " is an inaccuracy",
                _ => "",
            };
            format!(
                "{san}{mark}{kind}: {us}'s win probability is {win_probability:.0} %, {loss:.0} less than with the best move."
            )
        }
    }
}

fn gives_up(game: &Game, given: GivenUp) -> Option<String> {
    let them = side(game, false);
    match given {
        GivenUp::MissedMate { moves } => Some(format!("It misses a forced mate in {moves}.")),
        GivenUp::Win { now: LikelyResult::Loss } => {
            Some("It turns a likely win into a likely loss.".to_owned())
        }
        GivenUp::Win { .. } => Some("It gives up the win: a draw is now the likeliest result.".to_owned()),
        GivenUp::Draw => Some(format!("It gives up the draw: {them} is now likely to win.")),
        // These are said already.
        GivenUp::Mated { .. } | GivenUp::Material { .. } => None,
    }
}

/// What the line wins or loses.
fn exchanged(game: &Game, trade: &Trade) -> Option<String> {
    let us = side(game, true);
    let (lost, won) = (pieces(&trade.lost), pieces(&trade.won));
    match (trade.lost.is_empty(), trade.won.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("{us} loses {lost}.")),
        (true, false) => Some(format!("{us} wins {won}.")),
        _ if trade.balance() < 0 => Some(format!("{us} loses {lost} for {won}.")),
        _ if trade.balance() > 0 => Some(format!("{us} wins {won} for {lost}.")),
        _ => Some(format!("{us} exchanges {lost} for {won}.")),
    }
}

/// The opponent's answer to a bad move.
fn answer(game: &Game, explained: &MoveExplanation) -> Option<String> {
    let reply = explained.reply.as_ref()?;
    let them = side(game, false);
    let role = |letter| Role::from_char(letter).map_or("piece", name);
    let takes = reply.takes.map(|letter| format!("takes the {}", role(letter)));
    let attacks: Vec<String> = reply.forks.chars().map(|letter| format!("the {}", role(letter))).collect();
    let attacks = (!attacks.is_empty()).then(|| format!("attacks {} at once", joined(&attacks)));
    // A fork of the king says that it is check.
    let check = (reply.check && !reply.forks.contains('k')).then(|| "gives check".to_owned());
    let does: Vec<String> = takes.into_iter().chain(check).chain(attacks).collect();
    // Mate says enough.
    Some(match does.is_empty() || reply.san.ends_with('#') {
        true => format!("{them} answers {}.", reply.san),
        false => format!("{them} answers {}, which {}.", reply.san, joined(&does)),
    })
}

/// The side to move, or the other.
fn side(game: &Game, to_move: bool) -> &'static str {
    let color = if to_move { game.turn() } else { !game.turn() };
    color.fold_wb("White", "Black")
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Pawn => "pawn",
        Role::Knight => "knight",
        Role::Bishop => "bishop",
        Role::Rook => "rook",
        Role::Queen => "queen",
        Role::King => "king",
    }
}

/// `a knight and two pawns`
fn pieces(roles: &[Role]) -> String {
    let mut counted: Vec<(Role, usize)> = Vec::new();
    for role in roles {
        match counted.last_mut() {
            Some((last, count)) if last == role => *count += 1,
            _ => counted.push((*role, 1)),
        }
    }
    let words = |(role, count): &(Role, usize)| match (count, role) {
        (1, Role::Queen) => "the queen".to_owned(),
        (1, role) => format!("a {}", name(*role)),
        (2, role) => format!("two {}s", name(*role)),
        (count, role) => format!("{count} {}s", name(*role)),
    };
    joined(&counted.iter().map(words).collect::<Vec<_>>())
}

/// `a, b and c`
fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::facts::OpponentReply;

    #[test]
    fn pieces_are_counted() {
        assert_eq!(
            pieces(&[Role::Queen, Role::Knight, Role::Pawn, Role::Pawn]),
            "the queen, a knight and two pawns"
        );
        assert_eq!(pieces(&[]), "");
    }

    #[test]
    fn a_mistake_is_explained_by_what_it_loses_and_what_answers_it() {
        let explained = MoveExplanation {
            san: "e3".to_owned(),
            uci: "e2e3".to_owned(),
            win_probability: 31.4,
            wdl: [0.2, 0.2, 0.6],
            mate: None,
            loss: 24.6,
            mark: Some("??"),
            line: vec!["e3".to_owned(), "Nc2+".to_owned()],
            reply: Some(OpponentReply {
                san: "Nc2+".to_owned(),
                takes: None,
                check: true,
                forks: "kr".to_owned(),
            }),
            loses: "r".to_owned(),
            wins: "n".to_owned(),
            gives_up: vec![GivenUp::Material { centipawns: 200 }, GivenUp::Draw],
            words: String::new(),
        };
        let trade = Trade { lost: vec![Role::Rook], won: vec![Role::Knight] };
        assert_eq!(
            of_move(&Game::new(), &explained, false, &trade),
            "e3?? is a blunder: White's win probability is 31 %, 25 less than with the best move. It gives up the draw: \
             Black is now likely to win. White loses a rook for a knight. Black answers Nc2+, which attacks the king and \
             the rook at once."
        );
    }
}
