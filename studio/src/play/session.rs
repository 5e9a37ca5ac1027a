//! The rules of a session at the board. Nothing here waits or reads the time.

use std::time::{Duration, Instant};

use engine::chess::pgn::{MoveTree, NodeId, PgnGame, Step, encoded};
use engine::search::Score;
use shakmaty::{ByColor, Color};

use super::clock::{ChessClock, clk_text};
use super::edits::Edited;
use super::file::LoadedGame;
use super::pgn::{PgnHeader, pgn_game};
use super::played::{EndReason, GameEnd, PlayedGame, Winner};
use super::seats::{ActionError, NewGame, Seat, one_second};

/// In milliseconds.
const MOVE_TIMES: std::ops::RangeInclusive<u32> = 10..=600_000;

#[derive(Clone, Debug)]
pub struct Session {
    pub(super) game: PlayedGame,
    pub(super) seats: ByColor<Seat>,
    pub(super) names: Option<[String; 2]>,
    /// Of the file in the library, from the first move on.
    pub(super) name: Option<String>,
    /// `YYYY.MM.DD` of the first move.
    pub(super) date: Option<String>,
    /// The game with its variations and comments. Its tags are those of a loaded game.
    pub(super) record: PgnGame,
    /// The game's last position in the tree. After the end of the game, the main line may go on.
    pub(super) at: NodeId,
    /// The latest last. Emptied by the game's own moves, but for those of a line that is played at once.
    pub(super) edits: Vec<Edited>,
    /// The moves are those of the loaded file, whose tags hold.
    pub(super) is_loaded: bool,
    pub(super) clock: Option<ChessClock>,
    /// The clock before each move, for take-backs.
    pub(super) clock_before: Vec<ByColor<Duration>>,
    pub(super) move_time_ms: u32,
    pub(super) end: Option<GameEnd>,
    /// Somebody has moved, taken back or resigned in this session.
    pub(super) is_played: bool,
    /// Grows with every change of the game. Answers to an older revision are ignored.
    pub(super) revision: u64,
}

impl Session {
    pub fn new(new: NewGame) -> Result<Session, ActionError> {
        let invalid = |text: String| ActionError::Invalid(text);
        if !MOVE_TIMES.contains(&new.move_time_ms) {
            return Err(invalid("An engine's time for a move is 0.01 to 600 seconds.".to_owned()));
        }
        if let Some(clock) = new.clock
            && !clock.is_sensible()
        {
            return Err(invalid(
                "A clock has 1 second to 24 hours for the game, and up to an hour of increment and of delay a move."
                    .to_owned(),
            ));
        }
        let game =
            new.start.game().map_err(|error| invalid(format!("The start position is wrong: {error}.")))?;
        let end = game.end();
        let clock = new.clock.map(ChessClock::new);
        let full = clock.iter().map(|clock| clock.left(Instant::now()));
        let record = pgn_game(&game, ["?"; 2], end, PgnHeader::casual("????.??.??"));
        Ok(Session {
            at: end_of(&record, game.ply()),
            record,
            edits: Vec::new(),
            is_loaded: false,
            clock_before: full.cycle().take(game.ply()).collect(),
            game,
            seats: ByColor { white: new.white, black: new.black },
            names: None,
            name: None,
            date: None,
            clock,
            move_time_ms: new.move_time_ms,
            end,
            is_played: false,
            revision: 0,
        })
    }

    pub fn loaded(LoadedGame { game, names, end, source }: LoadedGame) -> Session {
        let named = names.iter().any(|name| !name.is_empty());
        Session {
            at: end_of(&source, game.ply()),
            record: source,
            edits: Vec::new(),
            is_loaded: true,
            game,
            seats: ByColor { white: Seat::Person, black: Seat::Person },
            names: named.then_some(names),
            name: None,
            date: None,
            clock: None,
            clock_before: Vec::new(),
            move_time_ms: one_second(),
            end,
            is_played: false,
            revision: 0,
        }
    }

    /// With variations and comments. `date` is for a game that was played here, if its own is not known.
    pub fn pgn(&self, date: &str) -> PgnGame {
        let date = self.date.as_deref().unwrap_or(date);
        let [white, black] = self.labels();
        let mut here = pgn_game(&self.game, [&white, &black], self.end, PgnHeader::casual(date));
        here.tree = self.record.tree.clone();
        if !self.is_loaded && !self.has_tags_of_file() {
            return here;
        }
        let mut game = self.record.clone();
        if !self.is_loaded {
            game.result = here.result;
            let result = game.outcome().as_str();
            if let Some((_, value)) = game.tags.iter_mut().find(|(name, _)| name == b"Result") {
                *value = encoded(result);
            }
        }
        if ["Event", "White", "Black"].iter().all(|name| game.tag(name).is_none()) {
            let result = game.outcome().as_str();
            let unknown = [("Event", "?"), ("Site", "?"), ("Date", "????.??.??"), ("Round", "?")];
            let players = [("White", "?"), ("Black", "?"), ("Result", result)];
            unknown.into_iter().chain(players).for_each(|(name, value)| game.add_tag(name, value));
        }
        for name in ["SetUp", "FEN", "Variant"] {
            if let Some(value) = here.tag(name) {
                game.add_tag(name, &value);
            }
        }
        game
    }

    /// Whether the tags are those of a loaded game, even if moves were played since.
    fn has_tags_of_file(&self) -> bool {
        let known = |name: &str| self.record.tag(name).filter(|value| !value.starts_with("????"));
        let is_casual = known("Event").as_deref() == Some("Casual game");
        let is_of_rules = |name: &str| ["Result", "SetUp", "FEN", "Variant"].contains(&name);
        let mut names = self.record.tags.iter().filter_map(|(name, _)| std::str::from_utf8(name).ok());
        !is_casual && names.any(|name| !is_of_rules(name) && known(name).is_some())
    }

    pub fn at(&self) -> NodeId {
        self.at
    }

    pub fn tree(&self) -> &MoveTree {
        &self.record.tree
    }

    pub fn game(&self) -> &PlayedGame {
        &self.game
    }

    pub fn seats(&self) -> &ByColor<Seat> {
        &self.seats
    }

    pub fn end(&self) -> Option<GameEnd> {
        self.end
    }

    pub fn clock(&self) -> Option<&ChessClock> {
        self.clock.as_ref()
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// It was played here and can be played on, so no other game takes its board.
    pub fn is_at_stake(&self) -> bool {
        self.is_played && self.end.is_none() && self.game.ply() > 0
    }

    /// Whether the game was played here, so that no file holds it.
    pub fn is_worth_keeping(&self) -> bool {
        self.is_played && self.game.ply() > 0
    }

    pub fn continue_revisions(&mut self, earlier: u64) {
        self.revision += earlier + 1;
    }

    pub fn labels(&self) -> [String; 2] {
        match &self.names {
            Some(names) => names.clone(),
            None => [self.seats.white.label(), self.seats.black.label()],
        }
    }

    /// A person plays against an engine.
    pub fn is_against_engine(&self) -> bool {
        self.seats.white.is_person() != self.seats.black.is_person()
    }

    pub fn person_moves(&self) -> bool {
        self.end.is_none() && *self.seats.get(self.game.turn()) == Seat::Person
    }

    pub fn engine_to_move(&self) -> Option<&Seat> {
        let seat = self.seats.get(self.game.turn());
        (self.end.is_none() && *seat != Seat::Person).then_some(seat)
    }

    pub(super) fn persons(&self) -> usize {
        self.seats.iter().filter(|seat| **seat == Seat::Person).count()
    }

    fn check_running(&self) -> Result<(), ActionError> {
        match self.end {
            None => Ok(()),
            Some(end) => {
                Err(ActionError::NotNow(format!("The game is over: {} Start a new one.", end.sentence())))
            }
        }
    }

    /// `ply` is the ply that the person saw, to refuse a move in an outdated position.
    pub fn move_by_person(
        &mut self,
        text: &str,
        ply: Option<usize>,
        now: Instant,
    ) -> Result<(), ActionError> {
        self.check_running()?;
        if !self.person_moves() {
            let name = self.seats.get(self.game.turn()).label();
            return Err(ActionError::NotNow(format!(
                "It is {name}'s move: wait for it, or take your move back."
            )));
        }
        if ply.is_some_and(|ply| ply != self.game.ply()) {
            return Err(ActionError::NotNow(
                "The position has changed meanwhile: look at the board again.".into(),
            ));
        }
        self.play(text, now)
    }

    pub fn move_by_engine(&mut self, revision: u64, text: &str, now: Instant) -> Result<(), ActionError> {
        if revision != self.revision || self.engine_to_move().is_none() {
            return Ok(());
        }
        self.play(text, now)
    }

    pub(super) fn play(&mut self, text: &str, now: Instant) -> Result<(), ActionError> {
        let mover = self.game.turn();
        if self.flag(now) {
            return Ok(());
        }
        let m = self.game.parse(text).map_err(ActionError::Invalid)?;
        self.game.play(m).map_err(ActionError::NotNow)?;
        self.at = self.record.tree.play(self.at, Step::Move(m));
        self.record.tree.make_main(self.at);
        if let Some(clock) = &mut self.clock {
            self.clock_before.push(clock.left(now));
            clock.press(mover, now);
            let left = clk_text(*clock.left(now).get(mover));
            self.record.tree.set_command(self.at, "clk", Some(&left));
        }
        self.changed(self.game.end(), now);
        Ok(())
    }

    fn changed(&mut self, end: Option<GameEnd>, now: Instant) {
        self.edits.clear();
        self.end = end;
        self.is_loaded = false;
        self.is_played = true;
        self.revision += 1;
        if let Some(clock) = &mut self.clock
            && end.is_some()
        {
            clock.stop(now);
        }
    }

    /// Ends the game if the side to move has no time left. Returns whether the flag has fallen.
    pub fn flag(&mut self, now: Instant) -> bool {
        let fallen = self.clock.as_ref().and_then(ChessClock::flag_falls).is_some_and(|falls| falls <= now);
        if fallen && self.end.is_none() {
            self.changed(Some(self.game.end_on_time()), now);
        }
        fallen
    }

    /// Plies that `take_back` removes, so that a person is to move again; 0 if it is refused.
    pub fn plies_to_take_back(&self) -> usize {
        let ply = self.game.ply();
        let plies = match self.persons() {
            // Nobody plays a game that was loaded.
            _ if self.is_loaded => 0,
            0 => 0,
            1 if *self.seats.get(self.game.turn()) == Seat::Person => 2,
            _ => 1,
        };
        if plies <= ply { plies } else { 0 }
    }

    pub fn take_back(&mut self, now: Instant) -> Result<(), ActionError> {
        let plies = self.plies_to_take_back();
        if plies == 0 {
            return Err(ActionError::NotNow("There is no move of yours to take back.".into()));
        }
        let label = if plies == 1 { "take the move back" } else { "take the moves back" };
        if let Some(clock) = &mut self.clock {
            // So that undoing brings back the times of this moment.
            clock.stop(now);
        }
        let before = self.before_change(label.to_owned(), true);
        self.game.take_back(plies);
        let tree = &mut self.record.tree;
        self.at = (0..plies).fold(self.at, |node, _| tree.parent(node).unwrap_or(MoveTree::ROOT));
        // Variations in place of a move that is taken back would become the game.
        let later: Vec<NodeId> = tree.children(self.at).collect();
        later.into_iter().for_each(|node| tree.delete(node));
        if let Some(clock) = &mut self.clock {
            if let Some(left) = self.clock_before.get(self.game.ply()) {
                clock.set_left(*left);
            }
            self.clock_before.truncate(self.game.ply());
            if self.game.ply() > 0 {
                clock.run(self.game.turn(), now);
            }
        }
        let edits = std::mem::take(&mut self.edits);
        self.changed(self.game.end(), now);
        self.edits = edits;
        self.remember(before);
        Ok(())
    }

    /// If both players are persons, the side to move resigns.
    pub fn resign(&mut self, now: Instant) -> Result<(), ActionError> {
        self.check_running()?;
        let side = match self.persons() {
            0 => {
                return Err(ActionError::NotNow(
                    "Two engines are playing: start a new game to stop them.".into(),
                ));
            }
            1 if self.seats.white == Seat::Person => Color::White,
            1 => Color::Black,
            _ => self.game.turn(),
        };
        self.changed(Some(GameEnd { winner: (!side).into(), reason: EndReason::Resignation }), now);
        Ok(())
    }

    /// Two persons agree. An engine agrees if its last score from its own view is at most 0.
    pub fn draw(&mut self, engine_score: Option<Score>, now: Instant) -> Result<(), ActionError> {
        self.check_running()?;
        let declines = match engine_score {
            _ if self.persons() == 2 => false,
            Some(Score::Cp(cp)) => cp > 0,
            Some(Score::Mate(moves)) => moves > 0,
            None => true,
        };
        if self.persons() == 0 || declines {
            return Err(ActionError::NotNow("The draw is declined: play on.".into()));
        }
        self.changed(Some(GameEnd { winner: Winner::Draw, reason: EndReason::Agreement }), now);
        Ok(())
    }

    /// The game has begun and is not over, but its clock stands still: after a restart, until a visible window shows the board.
    pub fn is_suspended(&self) -> bool {
        let stands = self.clock.as_ref().is_some_and(|clock| clock.running().is_none());
        stands && self.end.is_none() && self.game.ply() > 0
    }

    /// Somebody looks: restarts the clock of a suspended game. Returns whether it was one.
    pub fn attach(&mut self, now: Instant) -> bool {
        let (is_suspended, turn) = (self.is_suspended(), self.game.turn());
        if let Some(clock) = self.clock.as_mut().filter(|_| is_suspended) {
            clock.run(turn, now);
        }
        is_suspended
    }

    /// The `go` command for the engine to move, and its maximum thinking time.
    pub fn go(&self, now: Instant) -> (String, Duration) {
        let Some(clock) = &self.clock else {
            return (format!("go movetime {}", self.move_time_ms), self.move_time());
        };
        let left = clock.left(now);
        // The protocol knows no delay. Like an increment, it is given with every move.
        let increment = (clock.control().increment_s + clock.control().delay_s) * 1000;
        let (white, black) = (left.white.as_millis().max(1), left.black.as_millis().max(1));
        let go = format!("go wtime {white} btime {black} winc {increment} binc {increment}");
        (go, clock.delay_left(now) + *left.get(self.game.turn()))
    }

    fn move_time(&self) -> Duration {
        Duration::from_millis(u64::from(self.move_time_ms))
    }
}

/// The node after `ply` moves of the main line.
pub(super) fn end_of(game: &PgnGame, ply: usize) -> NodeId {
    ply.checked_sub(1).and_then(|last| game.tree.main_line().nth(last)).unwrap_or(MoveTree::ROOT)
}

#[cfg(test)]
mod tests {
    use super::super::clock::TimeControl;
    use super::super::start::StartChoice;
    use super::*;

    fn engine() -> Seat {
        Seat::engine("Philidor")
    }

    fn session(white: Seat, black: Seat, clock: Option<TimeControl>) -> Session {
        let start = StartChoice::Standard;
        Session::new(NewGame { white, black, start, clock, move_time_ms: 500, here: None }).unwrap()
    }

    #[test]
    fn a_person_moves_only_in_turn() {
        let now = Instant::now();
        let mut session = session(Seat::Person, engine(), None);
        session.move_by_person("e4", Some(0), now).unwrap();
        assert!(matches!(session.move_by_person("e5", None, now), Err(ActionError::NotNow(_))));
        session.move_by_engine(session.revision() - 1, "a7a6", now).unwrap();
        assert_eq!(session.game().ply(), 1, "an answer to an older position is ignored");
        assert!(session.move_by_engine(session.revision(), "e2e4", now).is_err());
        session.move_by_engine(session.revision(), "e7e5", now).unwrap();
        assert!(matches!(session.move_by_person("Nf3", Some(1), now), Err(ActionError::NotNow(_))));
        assert!(matches!(session.move_by_person("Ke3", Some(2), now), Err(ActionError::Invalid(_))));
        assert_eq!(session.go(now).0, "go movetime 500");
    }

    #[test]
    fn taking_back_returns_to_the_persons_turn() {
        let now = Instant::now();
        let mut session = session(engine(), Seat::Person, None);
        session.move_by_engine(0, "e2e4", now).unwrap();
        assert_eq!(session.plies_to_take_back(), 0, "there is only the engine's move");
        assert!(session.take_back(now).is_err());
        session.move_by_person("e5", None, now).unwrap();
        session.take_back(now).unwrap();
        assert_eq!((session.game().ply(), session.person_moves()), (1, true));
        session.move_by_person("c5", None, now).unwrap();
        session.move_by_engine(session.revision(), "g1f3", now).unwrap();
        session.take_back(now).unwrap();
        assert_eq!((session.game().ply(), session.person_moves()), (1, true));
    }

    #[test]
    fn taking_back_gives_the_time_back_and_revives_a_game() {
        let begin = Instant::now();
        let at = |s| begin + Duration::from_secs(s);
        let mut session =
            session(Seat::Person, Seat::Person, Some(TimeControl { base_s: 60, increment_s: 0, delay_s: 0 }));
        for (s, text) in [(0, "f3"), (10, "e5"), (15, "g4"), (25, "Qh4")] {
            session.move_by_person(text, None, at(s)).unwrap();
        }
        assert_eq!(session.end().unwrap().reason, EndReason::Checkmate);
        assert_eq!(session.clock().unwrap().running(), None);
        session.take_back(at(30)).unwrap();
        let left = session.clock().unwrap().left(at(30));
        assert_eq!((left.white.as_secs(), left.black.as_secs()), (55, 40));
        assert_eq!((session.end(), session.clock().unwrap().running()), (None, Some(Color::Black)));
        assert_eq!(session.go(at(31)).0, "go wtime 55000 btime 39000 winc 0 binc 0");
        session.undo(at(40)).unwrap();
        let left = session.clock().unwrap().left(at(50));
        assert_eq!((left.white.as_secs(), left.black.as_secs()), (55, 40), "the times of the mate");
        assert_eq!(session.end().unwrap().reason, EndReason::Checkmate);
    }

    #[test]
    fn the_flag_ends_the_game_once_and_no_move_comes_after() {
        let begin = Instant::now();
        let at = |s| begin + Duration::from_secs(s);
        let mut session =
            session(Seat::Person, Seat::Person, Some(TimeControl { base_s: 60, increment_s: 0, delay_s: 0 }));
        session.move_by_person("e4", None, at(500)).unwrap();
        assert!(!session.flag(at(559)), "the clock began with the first move");
        session.move_by_person("e5", None, at(561)).unwrap();
        assert_eq!(session.end().unwrap().sentence(), "White wins on time.");
        assert_eq!(session.game().ply(), 1);
        assert!(session.move_by_person("e5", None, at(562)).is_err());
    }

    #[test]
    fn a_game_begins_after_the_moves_of_an_opening() {
        let clock = Some(TimeControl { base_s: 60, increment_s: 0, delay_s: 0 });
        let start = StartChoice::Moves("1. e4 e5 2. Nf3".into());
        let (white, black, now) = (engine(), Seat::Person, Instant::now());
        let new = NewGame { white, black, start, clock, move_time_ms: 500, here: None };
        let mut session = Session::new(new.clone()).unwrap();
        assert_eq!((session.game().ply(), session.person_moves()), (3, true));
        session.move_by_person("Nc6", Some(3), now).unwrap();
        session.take_back(now).unwrap();
        assert_eq!(session.game().ply(), 3);
        let wrong = NewGame { start: StartChoice::Moves("1. e4 e5 2. Ke3".into()), ..new };
        assert!(matches!(Session::new(wrong), Err(ActionError::Invalid(text)) if text.contains("Ke3")));
    }

    #[test]
    fn a_loaded_game_keeps_its_tags_also_when_it_is_played_on() {
        let loaded = |text: &str| {
            let file = super::super::file::PgnFile::read(text.as_bytes()).unwrap();
            Session::loaded(file.game(0).unwrap())
        };
        let few =
            "[Site \"Riga\"]\n[Date \"1990.01.02\"]\n[ECO \"A00\"]\n[WhiteElo \"2000\"]\n\n1. e4 e5 *\n";
        let mut session = loaded(few);
        let check = |session: &Session, result: &str| {
            let game = session.pgn("2026.01.01");
            let kept = ["Site", "Date", "ECO", "WhiteElo", "Result"].map(|name| game.tag(name).unwrap());
            assert_eq!(kept, ["Riga", "1990.01.02", "A00", "2000", result]);
            assert!(game.tags.iter().any(|(name, value)| name == b"White" && value == b"?"), "{game:?}");
            assert_eq!(game.tag("Event"), None);
        };
        check(&session, "*");
        let now = Instant::now();
        session.add_variation(session.at().index(), "Bc4 Nc6", now).unwrap();
        check(&session, "*");
        assert_eq!((session.game().ply(), session.undo_label().as_deref()), (4, Some("play 2. Bc4")));
        let saved = super::super::saved::SavedGame::of(&session, Vec::new(), now);
        let mut again = saved.session().unwrap();
        for text in ["Qh5", "Nf6", "Qxf7"] {
            again.move_by_person(text, None, now).unwrap();
        }
        check(&again, "1-0");
        session.undo(now).unwrap();
        assert_eq!(
            (session.game().ply(), session.plies_to_take_back()),
            (2, 0),
            "it is the loaded game again"
        );
        check(&session, "*");
        assert_eq!(loaded("1. e4 e5 *").pgn("2026.01.01").tag("Site"), None, "it was not played here");
    }

    #[test]
    fn resigning_and_draws() {
        let now = Instant::now();
        let mut against = session(engine(), Seat::Person, None);
        assert!(against.clone().draw(Some(Score::Cp(30)), now).is_err());
        assert!(against.clone().draw(None, now).is_err());
        let mut drawn = against.clone();
        drawn.draw(Some(Score::Cp(-1)), now).unwrap();
        assert_eq!(drawn.end().unwrap().winner, Winner::Draw);
        against.resign(now).unwrap();
        assert_eq!(against.end().unwrap().winner, Winner::White);
        assert!(against.resign(now).is_err());
        assert!(session(engine(), engine(), None).resign(now).is_err());
    }

    #[test]
    fn times_that_make_no_sense_are_refused() {
        let new = |clock, move_time_ms| {
            let (white, black, start) = (Seat::Person, Seat::Person, StartChoice::Standard);
            Session::new(NewGame { white, black, start, clock, move_time_ms, here: None }).is_err()
        };
        assert!(new(Some(TimeControl { base_s: 0, increment_s: 1, delay_s: 0 }), 500));
        assert!(new(Some(TimeControl { base_s: u32::MAX, increment_s: 1, delay_s: 0 }), 500));
        assert!(new(None, 0));
        assert!(!new(None, 500));
    }
}
