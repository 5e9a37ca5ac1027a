use shakmaty::{Move, Position};

use super::checks::mate_in_one;
use super::numbers::NumberBounds;
use super::proof::{Allowance, Place, ProofSearch};

impl ProofSearch {
    /// Returns the line of a mate within `moves` moves that begins with `first`; replies delay the mate as far as the
    /// table knows. The line is cut short where table entries were replaced and the allowance is too small to prove
    /// them again.
    pub fn attack_line(
        &mut self,
        mut place: Place,
        first: Move,
        mut moves: u8,
        allowance: &mut Allowance,
    ) -> Vec<Move> {
        let mut line = vec![first];
        let mut visited = vec![place.hash];
        place = place.after(first, place.hash_after(first));
        while let Some((reply, left)) = self.longest_reply(&place, moves - 1, allowance) {
            let attacked = place.after(reply, place.hash_after(reply));
            if left == 0 || visited.contains(&attacked.hash) {
                break;
            }
            visited.push(attacked.hash);
            let Some(m) = self.mating_move(&attacked, left, allowance) else { break };
            line.extend([reply, m]);
            place = attacked.after(m, attacked.hash_after(m));
            moves = left;
        }
        line
    }

    /// As [`ProofSearch::attack_line`] with the defender to move; empty at mate, or if the mate is not found again.
    pub fn defend_line(&mut self, place: Place, moves: u8, allowance: &mut Allowance) -> Vec<Move> {
        let Some((reply, left)) = self.longest_reply(&place, moves, allowance) else { return Vec::new() };
        let attacked = place.after(reply, place.hash_after(reply));
        let Some(m) = self.mating_move(&attacked, left, allowance) else { return Vec::new() };
        let mut line = vec![reply];
        line.extend(self.attack_line(attacked, m, left, allowance));
        line
    }

    /// Returns the reply that delays the mate most, and the moves to mate after it. `None` without a reply, or if a
    /// mate is not found again.
    fn longest_reply(&mut self, place: &Place, moves: u8, allowance: &mut Allowance) -> Option<(Move, u8)> {
        let mut longest = None;
        for m in place.position.legal_moves() {
            let hash = place.hash_after(m);
            let known = self.table.get(self.draws.key_after(hash, &place.position, m), moves);
            let numbers = match known.filter(|numbers| numbers.is_mate()) {
                Some(numbers) => numbers,
                None if moves == 0 => return None,
                None => self.attack(&place.after(m, hash), moves, NumberBounds::NONE, allowance),
            };
            if !numbers.is_mate() {
                return None;
            }
            if longest.is_none_or(|(_, most)| numbers.moves > most) {
                longest = Some((m, numbers.moves));
            }
        }
        longest
    }

    fn mating_move(&mut self, place: &Place, moves: u8, allowance: &mut Allowance) -> Option<Move> {
        if let Some((m, _)) = self.known_mate(place, moves) {
            return Some(m);
        }
        let numbers = self.attack(place, moves.max(1), NumberBounds::NONE, allowance);
        if numbers.is_mate() { self.mating } else { None }
    }

    /// First move and length of the shortest known mate within `moves` moves.
    pub fn known_mate(&self, place: &Place, moves: u8) -> Option<(Move, u8)> {
        if let Some(m) = mate_in_one(&place.position, &mut 0) {
            return Some((m, 1));
        }
        let known = place.position.legal_moves().into_iter().filter_map(|m| {
            let key = self.draws.key_after(place.hash_after(m), &place.position, m);
            let numbers = self.table.get(key, moves.saturating_sub(1))?;
            numbers.is_mate().then_some((m, numbers.moves + 1))
        });
        known.min_by_key(|&(_, moves)| moves)
    }
}
