use shakmaty::{Chess, Move, MoveList, Position, Role};

use super::checks::{CheckSquares, flights, mate_in_one};
use super::draws::HistoryDraws;
use super::numbers::{INFINITE, MOST_MOVES, NumberBounds, Numbers, beyond};
use super::table::MateTable;
use crate::chess::position::{hash_after, hash_of, played};

/// Added to the proof numbers of quiet moves, so that checks come first.
const QUIET: u32 = 12;

/// Nodes between calls of `stop`: about 0.1 ms.
const NODES_PER_LOOK: u64 = 256;

pub(super) struct Allowance<'a> {
    pub nodes: u64,
    pub end: u64,
    next_look: u64,
    stop: &'a mut dyn FnMut() -> bool,
}

impl<'a> Allowance<'a> {
    pub fn new(nodes: u64, stop: &'a mut dyn FnMut() -> bool) -> Allowance<'a> {
        Allowance { nodes: 0, end: nodes, next_look: 0, stop }
    }

    pub fn is_spent(&mut self) -> bool {
        if self.nodes >= self.next_look && self.nodes < self.end {
            self.next_look = self.nodes + NODES_PER_LOOK;
            if (self.stop)() {
                self.end = self.nodes;
            }
        }
        self.nodes >= self.end
    }
}

pub(super) struct Place {
    pub position: Chess,
    pub hash: u64,
}

impl Place {
    pub fn after(&self, m: Move, hash: u64) -> Place {
        Place { position: played(&self.position, m), hash }
    }

    pub fn hash_after(&self, m: Move) -> u64 {
        hash_after(&self.position, self.hash, m).unwrap_or_else(|| hash_of(&played(&self.position, m)))
    }
}

#[derive(Clone, Copy)]
struct ProofChild {
    m: Move,
    hash: u64,
    numbers: Numbers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Child(usize),
    /// All quiet moves of the attacker, which are not children yet.
    Quiet,
    Nothing,
}

const NO_CHILD: (Next, u32, u32) = (Next::Nothing, INFINITE, 0);

pub(super) struct ProofSearch {
    pub table: MateTable,
    pub draws: HistoryDraws,
    /// The children of all positions on the path, as a stack.
    children: Vec<ProofChild>,
    refutation: Option<Move>,
    /// The first move of the last proven mate.
    pub mating: Option<Move>,
}

impl ProofSearch {
    pub fn new(bytes: usize) -> ProofSearch {
        ProofSearch {
            table: MateTable::new(bytes),
            draws: HistoryDraws::new(),
            // No known position of a game has more than 218 moves.
            children: Vec::with_capacity(2 * MOST_MOVES as usize * 218),
            refutation: None,
            mating: None,
        }
    }

    pub fn forget(&mut self) {
        self.table.clear();
        self.refutation = None;
    }

    /// Searches a position with the attacker to move, who has `limit` ≥ 1 moves, until a number reaches its bound or
    /// the allowance is spent.
    pub fn attack(
        &mut self,
        place: &Place,
        limit: u8,
        bounds: NumberBounds,
        allowance: &mut Allowance,
    ) -> Numbers {
        let (before, base) = (allowance.nodes, self.children.len());
        allowance.nodes += 1;
        let numbers = self.attack_above(base, place, limit, bounds, allowance);
        self.children.truncate(base);
        self.table.put(self.draws.key(place.hash, &place.position), numbers, allowance.nodes - before);
        numbers
    }

    /// As [`ProofSearch::attack`], with the defender to move; the attacker then has `limit` ≥ 1 moves.
    pub fn defend(
        &mut self,
        place: &Place,
        limit: u8,
        bounds: NumberBounds,
        allowance: &mut Allowance,
    ) -> Numbers {
        let (before, base) = (allowance.nodes, self.children.len());
        allowance.nodes += 1;
        let numbers = self.defend_above(base, place, limit, bounds, allowance);
        self.children.truncate(base);
        self.table.put(self.draws.key(place.hash, &place.position), numbers, allowance.nodes - before);
        numbers
    }

    fn attack_above(
        &mut self,
        base: usize,
        place: &Place,
        limit: u8,
        bounds: NumberBounds,
        allowance: &mut Allowance,
    ) -> Numbers {
        if limit == 1 {
            return match mate_in_one(&place.position, &mut allowance.nodes) {
                Some(m) => self.mated_by(m, Numbers::mate(0)),
                None => Numbers::no_mate(1),
            };
        }
        let checks = CheckSquares::of(&place.position);
        let mut quiet = MoveList::new();
        for m in place.position.legal_moves() {
            if !checks.given_by(&place.position, m) {
                quiet.push(m);
            } else if let Some(mate) = self.add_attack(place, m, true, limit, allowance) {
                return mate;
            }
        }
        loop {
            let (next, proof, second, disproof) = self.choose_attack(base, quiet.len());
            match next {
                Next::Nothing => {
                    let moves = self.children[base..].iter().map(|child| child.numbers.moves + 1).min();
                    return Numbers::no_mate(moves.unwrap_or(MOST_MOVES));
                }
                _ if bounds.reached(proof, disproof) || allowance.is_spent() => {
                    return Numbers::open(proof, disproof);
                }
                Next::Quiet => {
                    for m in std::mem::take(&mut quiet) {
                        if allowance.is_spent() {
                            return Numbers::open(proof, disproof);
                        }
                        if let Some(mate) = self.add_attack(place, m, false, limit, allowance) {
                            return mate;
                        }
                    }
                }
                Next::Child(index) => {
                    let ProofChild { m, hash, numbers } = self.children[index];
                    let bounds = NumberBounds {
                        proof: bounds.proof.min(beyond(second)),
                        disproof: (bounds.disproof - disproof).saturating_add(numbers.disproof).min(INFINITE),
                    };
                    let numbers = self.defend(&place.after(m, hash), limit - 1, bounds, allowance);
                    if numbers.is_mate() {
                        return self.mated_by(m, numbers);
                    }
                    self.children[index].numbers = numbers;
                }
            }
        }
    }

    /// Chooses by least proof number and sums the disproof numbers. The quiet moves count as one child until added.
    fn choose_attack(&self, base: usize, quiet: usize) -> (Next, u32, u32, u32) {
        let first = if quiet > 0 { (Next::Quiet, QUIET, quiet as u32 + 1) } else { NO_CHILD };
        self.choose(base, first, |numbers| (numbers.proof, numbers.disproof))
    }

    /// Chooses by least disproof number, so never a proven child, and sums the proof numbers.
    fn choose_defence(&self, base: usize) -> (Next, u32, u32, u32) {
        self.choose(base, NO_CHILD, |numbers| (numbers.disproof, numbers.proof))
    }

    /// `pair` splits numbers into (first, second). Returns the child with the least first number, the two least first
    /// numbers, and the sum of the second numbers; without children, `first`.
    #[inline]
    fn choose(
        &self,
        base: usize,
        first: (Next, u32, u32),
        pair: impl Fn(&Numbers) -> (u32, u32),
    ) -> (Next, u32, u32, u32) {
        let ((mut next, mut least, mut sum), mut second) = (first, INFINITE);
        for (index, ProofChild { numbers, .. }) in self.children.iter().enumerate().skip(base) {
            let (own, other) = pair(numbers);
            sum = (sum + other).min(INFINITE - 1);
            if own < least {
                second = least;
                (next, least) = (Next::Child(index), own);
            } else if own < second {
                second = own;
            }
        }
        (next, least, second, sum)
    }

    /// Adds a move of the attacker to the children, or returns its numbers if it mates.
    fn add_attack(
        &mut self,
        place: &Place,
        m: Move,
        check: bool,
        limit: u8,
        allowance: &mut Allowance,
    ) -> Option<Numbers> {
        let hash = place.hash_after(m);
        let numbers = self.attacked(place, m, hash, check, limit - 1, allowance);
        if numbers.is_mate() {
            return Some(self.mated_by(m, numbers));
        }
        self.children.push(ProofChild { m, hash, numbers });
        None
    }

    fn mated_by(&mut self, m: Move, numbers: Numbers) -> Numbers {
        self.mating = Some(m);
        Numbers::mate(numbers.moves + 1)
    }

    /// Initial numbers after a move of the attacker, who then has `limit` moves left.
    fn attacked(
        &mut self,
        place: &Place,
        m: Move,
        hash: u64,
        check: bool,
        limit: u8,
        allowance: &mut Allowance,
    ) -> Numbers {
        if self.draws.repeats(hash) {
            return Numbers::NEVER;
        }
        let key = self.draws.key_after(hash, &place.position, m);
        if let Some(numbers) = self.table.get(key, limit) {
            return numbers;
        }
        allowance.nodes += 1;
        let next = place.after(m, hash);
        let replies = next.position.legal_moves();
        if replies.is_empty() {
            return if check { Numbers::mate(0) } else { Numbers::NEVER };
        }
        if self.draws.fifty_moves(&next.position) {
            return Numbers::NEVER;
        }
        if limit == 1 {
            let before = allowance.nodes;
            let numbers = self.defend_mate_in_one(&next, &replies, allowance);
            self.table.put(key, numbers, allowance.nodes - before);
            return numbers;
        }
        // Few replies are refuted sooner, and the king's are the hardest to refute. These weights solved the most mates
        // within 50,000 nodes.
        let (all, king) = (replies.len() as u32, count_king_moves(&replies));
        Numbers::open(if check { all + 2 * king } else { QUIET + all / 2 + 6 * king }, 1)
    }

    fn defend_above(
        &mut self,
        base: usize,
        place: &Place,
        limit: u8,
        bounds: NumberBounds,
        allowance: &mut Allowance,
    ) -> Numbers {
        let replies = place.position.legal_moves();
        if limit == 1 {
            return self.defend_mate_in_one(place, &replies, allowance);
        }
        for m in replies {
            let hash = place.hash_after(m);
            self.table.prefetch(self.draws.key_after(hash, &place.position, m));
            self.children.push(ProofChild { m, hash, numbers: Numbers::open(1, 1) });
        }
        for index in base..self.children.len() {
            let ProofChild { m, hash, .. } = self.children[index];
            let numbers = self.replied(place, m, hash, limit, allowance);
            if numbers.is_refuted() {
                return numbers;
            }
            self.children[index].numbers = numbers;
        }
        loop {
            let (next, disproof, second, proof) = self.choose_defence(base);
            match next {
                Next::Child(index) if !bounds.reached(proof, disproof) && !allowance.is_spent() => {
                    let ProofChild { m, hash, numbers } = self.children[index];
                    let bounds = NumberBounds {
                        proof: (bounds.proof - proof).saturating_add(numbers.proof).min(INFINITE),
                        disproof: bounds.disproof.min(beyond(second)),
                    };
                    let numbers = self.attack(&place.after(m, hash), limit, bounds, allowance);
                    if numbers.is_refuted() {
                        return numbers;
                    }
                    self.children[index].numbers = numbers;
                }
                Next::Child(_) => return Numbers::open(proof, disproof),
                _ => {
                    let moves = self.children[base..].iter().map(|child| child.numbers.moves).max();
                    return Numbers::mate(moves.unwrap_or(0));
                }
            }
        }
    }

    /// Initial numbers after a reply; the attacker has `limit` moves left.
    fn replied(
        &mut self,
        place: &Place,
        m: Move,
        hash: u64,
        limit: u8,
        allowance: &mut Allowance,
    ) -> Numbers {
        if self.draws.repeats(hash) {
            return Numbers::NEVER;
        }
        if let Some(numbers) = self.table.get(self.draws.key_after(hash, &place.position, m), limit) {
            return numbers;
        }
        allowance.nodes += 1;
        let next = played(&place.position, m);
        if self.draws.fifty_moves(&next) {
            return Numbers::NEVER;
        }
        Numbers::open(1 + 3 * flights(&next) / 4, 1)
    }

    /// A mate if every reply allows mate in one.
    fn defend_mate_in_one(
        &mut self,
        place: &Place,
        replies: &MoveList,
        allowance: &mut Allowance,
    ) -> Numbers {
        let likely = self.refutation.filter(|m| replies.contains(m));
        let others = replies.iter().copied().filter(|m| Some(*m) != likely);
        for m in likely.into_iter().chain(others) {
            if self.mate_in_one_after(place, m, allowance).is_refuted() {
                self.refutation = Some(m);
                return Numbers::no_mate(1);
            }
        }
        Numbers::mate(1)
    }

    fn mate_in_one_after(&mut self, place: &Place, m: Move, allowance: &mut Allowance) -> Numbers {
        let hash = place.hash_after(m);
        if self.draws.repeats(hash) {
            return Numbers::NEVER;
        }
        let key = self.draws.key_after(hash, &place.position, m);
        // The move is played while the entry is fetched.
        self.table.prefetch(key);
        let next = played(&place.position, m);
        if let Some(numbers) =
            self.table.get(key, 1).filter(|numbers| numbers.is_mate() || numbers.is_refuted())
        {
            return numbers;
        }
        let before = allowance.nodes;
        allowance.nodes += 1;
        if self.draws.fifty_moves(&next) {
            return Numbers::NEVER;
        }
        let numbers = match mate_in_one(&next, &mut allowance.nodes) {
            Some(_) => Numbers::mate(1),
            None => Numbers::no_mate(1),
        };
        self.table.put(key, numbers, allowance.nodes - before);
        numbers
    }
}

fn count_king_moves(moves: &MoveList) -> u32 {
    moves.iter().filter(|m| m.role() == Role::King).count() as u32
}
