use std::fmt::Write;

use shakmaty::Role;

use super::facts::{GivenUp, LikelyResult, Trade};
use super::{Explanation, MoveExplanation, ShownLine};
use crate::apps::review::{name, numbered};
use crate::chess::position::Game;

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

/// `best` is `None` for the best move itself.
pub(super) fn of_move(
    game: &Game,
    explained: &MoveExplanation,
    trade: &Trade,
    best: Option<&ShownLine>,
) -> String {
    let mut sentences = vec![worth(game, explained, best.is_none())];
    sentences.extend(explained.gives_up.iter().filter_map(|given| gives_up(*given)));
    sentences.extend(best.filter(|_| explained.mark.is_some()).and_then(|best| missed(explained, best)));
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
            let what =
                if game.legal_moves().len() == 1 { "the only legal move" } else { "the best move found" };
            format!("{san} is {what}: {us}'s win probability is {win_probability:.0} %.")
        }
        (None, false) => {
            let kind = match mark {
                "??" => " is a blunder",
                "?" => " is a mistake",
                "?!" => " is an inaccuracy",
                _ => "",
            };
            // The difference of the rounded numbers shown.
            let less = match (win_probability + loss).round() - win_probability.round() {
                0.0 => "as with the best move".to_owned(),
                1.0 => "1 point less than with the best move".to_owned(),
                points => format!("{points:.0} points less than with the best move"),
            };
            format!("{san}{mark}{kind}: {us}'s win probability is {win_probability:.0} %, {less}.")
        }
    }
}

fn gives_up(given: GivenUp) -> Option<String> {
    let result = |lost: &str, now: &str| {
        Some(format!("It gives up a likely {lost}: a {now} is now the likeliest result."))
    };
    match given {
        GivenUp::MissedMate { moves } => Some(format!("It misses a forced mate in {moves}.")),
        GivenUp::Win { now: LikelyResult::Loss } => result("win", "loss"),
        GivenUp::Win { .. } => result("win", "draw"),
        GivenUp::Draw => result("draw", "loss"),
        // Said by `worth`, `missed` and `exchanged`.
        GivenUp::Mated { .. } | GivenUp::Material { .. } => None,
    }
}

/// Only if this move leaves material that the best move wins.
fn missed(explained: &MoveExplanation, best: &ShownLine) -> Option<String> {
    let mates = |given: &GivenUp| matches!(given, GivenUp::MissedMate { .. });
    let leaves = explained.gives_up.iter().any(|given| matches!(given, GivenUp::Material { .. }));
    if !leaves || explained.gives_up.iter().any(mates) || best.trade.balance() <= 0 {
        return None;
    }
    let (lost, won) = (pieces(&best.trade.lost), pieces(&best.trade.won));
    let price = if lost.is_empty() { String::new() } else { format!(" for {lost}") };
    Some(format!("It misses {}, which wins {won}{price}.", best.sans.first()?))
}

fn exchanged(game: &Game, trade: &Trade) -> Option<String> {
    let us = side(game, true);
    let (lost, won) = (pieces(&trade.lost), pieces(&trade.won));
    match (trade.lost.is_empty(), trade.won.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("In this line {us} loses {lost}.")),
        (true, false) => Some(format!("In this line {us} wins {won}.")),
        _ if trade.balance() < 0 => Some(format!("In this line {us} loses {lost} for {won}.")),
        _ if trade.balance() > 0 => Some(format!("In this line {us} wins {won} for {lost}.")),
        _ => Some(format!("In this line {us} exchanges {lost} for {won}.")),
    }
}

fn answer(game: &Game, explained: &MoveExplanation) -> Option<String> {
    let reply = explained.reply.as_ref()?;
    let them = side(game, false);
    let the = |role| format!("the {}", name(role));
    let takes = reply.takes.and_then(Role::from_char).map(|role| match reply.recaptures {
        true => "recaptures".to_owned(),
        false => format!("takes {}", the(role)),
    });
    let forked: Vec<Role> = reply.forks.chars().filter_map(Role::from_char).collect();
    let attacks = (!forked.is_empty()).then(|| format!("attacks {} at once", counted(&forked, the)));
    // A fork of the king is a check anyway.
    let check = (reply.check && !reply.forks.contains('k')).then(|| "gives check".to_owned());
    let does: Vec<String> = takes.into_iter().chain(check).chain(attacks).collect();
    // Mate says enough.
    Some(match does.is_empty() || reply.san.ends_with('#') {
        true => format!("{them} answers {}.", reply.san),
        false => format!("{them} answers {}, which {}.", reply.san, joined(&does)),
    })
}

fn side(game: &Game, to_move: bool) -> &'static str {
    let color = if to_move { game.turn() } else { !game.turn() };
    color.fold_wb("White", "Black")
}

/// `a knight and two pawns`
fn pieces(roles: &[Role]) -> String {
    counted(roles, |role| match role {
        Role::Queen => "the queen".to_owned(),
        role => format!("a {}", name(role)),
    })
}

/// `one` names a single piece.
fn counted(roles: &[Role], one: impl Fn(Role) -> String) -> String {
    let mut counts: Vec<(Role, usize)> = Vec::new();
    for role in roles {
        match counts.iter_mut().find(|(known, _)| known == role) {
            Some((_, count)) => *count += 1,
            None => counts.push((*role, 1)),
        }
    }
    let words = |(role, count): &(Role, usize)| match count {
        1 => one(*role),
        2 => format!("two {}s", name(*role)),
        count => format!("{count} {}s", name(*role)),
    };
    joined(&counts.iter().map(words).collect::<Vec<_>>())
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
    use crate::apps::explain::facts::OpponentReply;

    #[test]
    fn pieces_are_counted() {
        assert_eq!(
            pieces(&[Role::Queen, Role::Knight, Role::Pawn, Role::Pawn]),
            "the queen, a knight and two pawns"
        );
        assert_eq!(pieces(&[]), "");
        assert_eq!(pieces(&[Role::Knight, Role::Bishop, Role::Knight]), "two knights and a bishop");
    }

    #[test]
    fn answers_recapture_and_attack_several_pieces() {
        let reply = |takes, recaptures, forks: &str| OpponentReply {
            san: "Nxc2".to_owned(),
            takes,
            recaptures,
            check: false,
            forks: forks.to_owned(),
        };
        let answer =
            |reply| answer(&Game::new(), &MoveExplanation { reply: Some(reply), ..blunder() }).unwrap();
        assert_eq!(answer(reply(Some('q'), true, "")), "Black answers Nxc2, which recaptures.");
        assert_eq!(
            answer(reply(Some('p'), false, "qrr")),
            "Black answers Nxc2, which takes the pawn and attacks the queen and two rooks at once."
        );
    }

    #[test]
    fn win_probabilities_and_their_difference_fit_together() {
        let of = |win_probability, loss| {
            let mark = None;
            worth(&Game::new(), &MoveExplanation { win_probability, loss, mark, ..blunder() }, false)
        };
        // 97.1 and 96.8; 52.4 and 51.6; 53.4 and 50.6.
        assert_eq!(of(96.8, 0.3), "e3: White's win probability is 97 %, as with the best move.");
        assert_eq!(of(51.6, 0.8), "e3: White's win probability is 52 %, as with the best move.");
        assert_eq!(
            of(50.6, 2.8),
            "e3: White's win probability is 51 %, 2 points less than with the best move."
        );
        assert!(of(51.4, 0.2).contains("1 point less"));
    }

    fn blunder() -> MoveExplanation {
        MoveExplanation {
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
                recaptures: false,
                check: true,
                forks: "kr".to_owned(),
            }),
            loses: "r".to_owned(),
            wins: "n".to_owned(),
            gives_up: vec![GivenUp::Material { centipawns: 200 }, GivenUp::Draw],
            words: String::new(),
        }
    }

    #[test]
    fn a_mistake_is_explained_by_what_it_loses_and_what_answers_it() {
        let trade = Trade { lost: vec![Role::Rook], won: vec![Role::Knight] };
        let said = |best_trade| {
            let best = ShownLine { pv: vec![], sans: vec!["Kd2".to_owned()], trade: best_trade };
            of_move(&Game::new(), &blunder(), &trade, Some(&best))
        };
        assert_eq!(
            said(Trade::default()),
            "e3?? is a blunder: White's win probability is 31 %, 25 points less than with the best move. It gives up a \
             likely draw: a loss is now the likeliest result. In this line White loses a rook for a knight. Black answers \
             Nc2+, which attacks the king and the rook at once."
        );
        let wins = Trade { lost: vec![Role::Pawn], won: vec![Role::Queen] };
        assert!(said(wins).contains(" It misses Kd2, which wins the queen for a pawn. In this line"));
    }
}
