//! Reviews one game at a time, in a thread with its own engine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::apps::review::page::{self, PageTitle};
use engine::apps::review::{
    Budget, Evidence, GameReview, JudgeError, ReviewedMove, Reviewer, UNCLEAR, UciJudge, annotated,
    is_remark, remark,
};
use engine::apps::uci_client::{EngineCommand, UciEngine};
use engine::chess::pgn::{MoveTree, NodeId, PgnGame, without_commands};
use serde::Deserialize;
use shakmaty::{Color, Move, Position};
use tokio::sync::watch;

use super::view::ReviewView;
use crate::engines::EngineSpec;
use crate::play::{
    ActionError, Edit, Library, PERSON, PgnFile, ReviewedGame, SavedGame, SavedReview, Session, commands_of,
};

const NODES: std::ops::RangeInclusive<u64> = 100..=10_000_000;

/// Longest wait for an answer of the engine.
const PATIENCE: Duration = Duration::from_secs(120);

const STOPPED: &str = "The review was stopped.";

const TOLD_EVERY: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReviewCommand {
    Begin {
        board: u32,
        /// Nodes per position, in the mean.
        nodes: u64,
    },
    /// Keeps the moves judged so far.
    Stop,
    /// Writes marks, evaluations, remarks and better lines into the game on the board.
    Keep { board: u32 },
}

/// A mistake or blunder for which the review knows a better move.
#[derive(Clone, Debug)]
pub struct Mistake {
    /// The game's start, and the moves that led to the position.
    pub start: Option<String>,
    pub moves: Vec<Move>,
    pub best: Move,
    /// As in "A – B".
    pub players: String,
    /// As in "move 12 of White".
    pub place: String,
    /// What was played, with its number, `?` or `??`, and the remark.
    pub san: String,
    pub mark: &'static str,
    pub remark: String,
}

#[derive(Clone)]
struct Evaluated {
    /// Where the review was begun.
    board: u32,
    game: PgnGame,
    evidence: Vec<Evidence>,
    view: ReviewView,
    /// Found when they are first asked for after the review has ended.
    mistakes: OnceLock<Arc<[Mistake]>>,
}

#[derive(Clone)]
pub struct ReviewDesk {
    judge: Option<EngineSpec>,
    /// Where reviews are kept.
    library: Option<Library>,
    latest: Arc<Mutex<Option<Evaluated>>>,
    /// Stops the running review; every review has its own flag.
    stop: Arc<Mutex<Arc<AtomicBool>>>,
    out: Arc<watch::Sender<Arc<str>>>,
    /// A [`ReviewView`] as JSON, or `null`.
    pub state: watch::Receiver<Arc<str>>,
}

impl std::fmt::Debug for ReviewDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReviewDesk").field("judge", &self.judge).finish_non_exhaustive()
    }
}

/// The data stays valid if a holder of the lock panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what the review will write anew: the evaluation, an earlier review's remark with its mark, and any mark where
/// the review has one.
fn clear(tree: &mut MoveTree, node: NodeId, played: &ReviewedMove) {
    tree.set_command(node, "eval", None);
    let mut comments = tree.notes(node).comments.clone();
    // An unclear move had no mark, so the one that stands there is a person's.
    let had_mark = comments.iter().any(|comment| is_remark(comment) && without_commands(comment) != UNCLEAR);
    for comment in comments.iter_mut().filter(|comment| is_remark(comment)) {
        *comment = commands_of(comment);
    }
    if played.mark.is_some() || had_mark {
        Edit::Mark(0).apply(tree, node);
    }
    tree.set_comments(node, &comments);
}

impl ReviewDesk {
    pub fn new(judge: Option<EngineSpec>) -> ReviewDesk {
        let (out, state) = watch::channel(Arc::from("null"));
        let library = None;
        ReviewDesk { judge, library, latest: Arc::default(), stop: Arc::default(), out: Arc::new(out), state }
    }

    /// Makes every review a game of the library, also what a stopped one has judged.
    pub fn keeping(self, library: Library) -> ReviewDesk {
        ReviewDesk { library: Some(library), ..self }
    }

    /// Stops any other review. Moves that were added after the game's end are left out.
    pub fn begin(&self, reviewed: ReviewedGame, nodes: u64) -> Result<(), ActionError> {
        self.start(reviewed, nodes).map(drop)
    }

    fn start(&self, reviewed: ReviewedGame, nodes: u64) -> Result<JoinHandle<()>, ActionError> {
        let ReviewedGame { board, key, plies, mut game, .. } = reviewed;
        let last = plies.checked_sub(1).and_then(|ply| game.tree.main_line().nth(ply));
        while let Some(added) = last.and_then(|last| game.tree.first_child(last)) {
            game.tree.delete(added);
        }
        let none =
            || ActionError::NotNow("There is no engine to review with: name one with --engine.".into());
        let judge = self.judge.clone().ok_or_else(none)?;
        if !NODES.contains(&nodes) {
            let text = format!("A position is given {} to {} nodes.", NODES.start(), NODES.end());
            return Err(ActionError::Invalid(text));
        }
        let stop = Arc::<AtomicBool>::default();
        std::mem::replace(&mut *lock(&self.stop), stop.clone()).store(true, Ordering::Relaxed);
        let total = game.moves().len() + 1;
        let view = ReviewView {
            key,
            judge: judge.name.clone(),
            nodes,
            done: 0,
            total,
            seconds_left: None,
            running: true,
            notice: None,
            white: None,
            moves: Vec::new(),
            players: None,
        };
        let evidence = vec![Evidence::default(); total];
        let mistakes = OnceLock::new();
        let mut own = Evaluated { board, game, evidence, view, mistakes };
        *lock(&self.latest) = Some(own.clone());
        self.publish();
        let desk = self.clone();
        // The review blocks on an engine for minutes.
        Ok(std::thread::spawn(move || {
            let ended = desk.evaluate(&judge, &mut own, nodes, &stop);
            if ended.is_err() {
                own.view.take(&GameReview::new(&own.game, &own.evidence, None));
            }
            let kept = desk.keep(&own, ended.is_ok());
            desk.note(&stop, |evaluated| {
                evaluated.view.running = false;
                evaluated.view.seconds_left = None;
                evaluated.view.notice = ended.err().or(kept.clone().err());
            });
            desk.tell_stopped(&stop, !own.view.moves.is_empty(), kept);
        }))
    }

    /// After a review was stopped, unless another one has begun: what became of it.
    fn tell_stopped(&self, stop: &Arc<AtomicBool>, is_judged: bool, kept: Result<bool, String>) {
        let latest_stop = lock(&self.stop);
        if !(stop.load(Ordering::Relaxed) && Arc::ptr_eq(&latest_stop, stop)) {
            return;
        }
        if let Some(evaluated) = &mut *lock(&self.latest) {
            evaluated.view.notice = Some(match kept {
                Ok(true) => format!(
                    "{STOPPED} What was judged so far stays, also in Games; another review begins anew."
                ),
                Ok(false) if is_judged => {
                    format!("{STOPPED} What was judged so far stays; another review begins anew.")
                }
                Ok(false) => format!("{STOPPED} Nothing was judged yet."),
                Err(error) => format!("{STOPPED} {error}"),
            });
        }
        self.publish();
    }

    /// The board whose game is being reviewed.
    pub fn running_on(&self) -> Option<u32> {
        lock(&self.latest).as_ref().filter(|latest| latest.view.running).map(|latest| latest.board)
    }

    pub fn stop(&self) {
        let stop = lock(&self.stop).clone();
        let is_running = lock(&self.latest).as_ref().is_some_and(|latest| latest.view.running);
        if is_running {
            self.note(&stop, |evaluated| {
                evaluated.view.running = false;
                evaluated.view.notice = Some(STOPPED.to_owned());
            });
        }
        stop.store(true, Ordering::Relaxed);
    }

    pub fn pgn(&self) -> Option<String> {
        lock(&self.latest).as_ref().and_then(reviewed_pgn)
    }

    /// Writes what was judged into the library, over an earlier review of the same game; one that was stopped replaces no
    /// complete one, and none replaces one that is on a board. Returns whether it is written; the error tells why not.
    fn keep(&self, reviewed: &Evaluated, complete: bool) -> Result<bool, String> {
        let Some(library) = self.library.as_ref().filter(|_| !reviewed.view.moves.is_empty()) else {
            return Ok(false);
        };
        let write = || -> Result<bool, String> {
            let text = reviewed_pgn(reviewed).ok_or("it cannot be written as PGN")?;
            let file = PgnFile::read(text.as_bytes()).map_err(|error| error.to_string())?;
            let game = file.game(0).map_err(|error| error.to_string())?;
            let date = game.source.tag("Date").unwrap_or_else(|| "????.??.??".to_owned());
            let [white, black] = ["White", "Black"].map(|tag| game.source.tag(tag));
            let same = format!("{} {white:?} {black:?} {date}", reviewed.view.key);
            let name = match library.review_of(&same) {
                Some((_, true)) if !complete => return Ok(false),
                Some((name, _)) => name,
                None => {
                    let white = white.as_deref().unwrap_or("White");
                    let black = black.as_deref().unwrap_or("Black");
                    library.free_name(&format!("{date} review of"), [white, black])
                }
            };
            let mut saved = SavedGame::of(&Session::loaded(game), Vec::new(), Instant::now());
            saved.review = Some(SavedReview { game: same, complete });
            library.write(&name, &saved).map_err(|error| error.to_string())?;
            Ok(true)
        };
        write().map_err(|error| {
            log::warn!("a review is not kept in the library: {error}");
            format!("The review is not kept in the library: {error}")
        })
    }

    /// The game, which has been reviewed, with what the review says of it. Its marks and evaluations replace others.
    pub fn annotate(&self, mut reviewed: ReviewedGame) -> Result<ReviewedGame, ActionError> {
        let other = || ActionError::NotNow("There is no review of the game on the board.".to_owned());
        let latest = lock(&self.latest);
        let Evaluated { evidence, view, .. } = latest.as_ref().ok_or_else(other)?;
        if view.key != reviewed.key || evidence.len() != reviewed.plies + 1 {
            return Err(other());
        }
        let mut evidence = evidence.clone();
        evidence.resize(reviewed.game.moves().len() + 1, Evidence::default());
        let review = GameReview::new(&reviewed.game, &evidence, None);
        let mut game = reviewed.game.clone();
        let line: Vec<NodeId> = game.tree.main_line().collect();
        for played in &review.moves {
            clear(&mut game.tree, line[played.ply], played);
        }
        reviewed.game = annotated(&GameReview::new(&game, &evidence, None), &title(view));
        Ok(reviewed)
    }

    /// Of a review that has ended, both players' or only the person's, with a text that is another for another review.
    pub fn mistakes(&self) -> Option<(String, Arc<[Mistake]>)> {
        let latest = lock(&self.latest);
        let evaluated = latest.as_ref().filter(|latest| !latest.view.running)?;
        let mistakes = evaluated.mistakes.get_or_init(|| mistakes(&evaluated.game, &evaluated.evidence));
        let ReviewView { key, nodes, done, .. } = &evaluated.view;
        Some((format!("{key} {nodes} {done}"), mistakes.clone()))
    }

    pub fn page(&self) -> Option<Vec<u8>> {
        let latest = lock(&self.latest);
        let Evaluated { game, evidence, view, .. } = latest.as_ref()?;
        let review = GameReview::new(game, evidence, None);
        let mut text = Vec::new();
        let title = title(view);
        let title = PageTitle { games: "game.pgn", judge: &title };
        page::write(&title, None, &review, &mut text).ok()?;
        Some(text)
    }

    /// Changes and publishes the review unless it was stopped.
    fn note(&self, stop: &AtomicBool, change: impl FnOnce(&mut Evaluated)) {
        {
            let mut latest = lock(&self.latest);
            match latest.as_mut() {
                Some(evaluated) if !stop.load(Ordering::Relaxed) => {
                    change(evaluated);
                    evaluated.mistakes = OnceLock::new();
                }
                _ => return,
            }
        }
        self.publish();
    }

    fn publish(&self) {
        let text = match &*lock(&self.latest) {
            Some(evaluated) => serde_json::to_string(&evaluated.view).expect("views can be written as JSON"),
            None => "null".to_owned(),
        };
        self.out.send_replace(text.into());
    }

    /// Fills in the review. An error says why it ended early, and what to do.
    fn evaluate(
        &self,
        judge: &EngineSpec,
        own: &mut Evaluated,
        nodes: u64,
        stop: &Arc<AtomicBool>,
    ) -> Result<(), String> {
        let told = |error: &dyn std::fmt::Display| format!("The review has ended: {error}. Try again.");
        let command = EngineCommand {
            program: judge.program.clone(),
            arguments: judge.arguments.clone(),
            options: judge.options.clone(),
            timeout: PATIENCE,
        };
        let engine = UciEngine::start(&command, stop).map_err(|error| told(&error))?;
        let mut judge = UciJudge::new(engine, &judge.options).map_err(|error| told(&error))?;
        own.view.judge = engine::apps::review::Judge::name(&judge);
        self.tell(stop, own);
        let (begin, mut told_at) = (Instant::now(), None::<Instant>);
        let game = own.game.clone();
        let total = game.moves().len() + 1;
        let budget = Budget::NodesPerPosition(nodes);
        let mut reviewer = Reviewer { budget, first_ply: 0, judge: &mut judge, stop };
        let reviewed = reviewer.review(&game, &[], &mut |new| {
            own.evidence = new.evidence.to_vec();
            if told_at.is_none_or(|at| at.elapsed() >= TOLD_EVERY) {
                told_at = Some(Instant::now());
                own.view.done = (new.spent * total as f64) as usize;
                let elapsed = begin.elapsed().as_secs_f64();
                own.view.seconds_left = (new.spent > 0.0).then(|| elapsed * (1.0 - new.spent) / new.spent);
                own.view.take(&GameReview::new(&game, &own.evidence, None));
                self.tell(stop, own);
            }
            Ok(())
        });
        own.evidence = reviewed.map_err(|error: JudgeError| told(&error))?;
        own.view.done = total;
        own.view.take(&GameReview::new(&game, &own.evidence, None));
        self.tell(stop, own);
        Ok(())
    }

    /// Publishes how far the review is unless it was stopped.
    fn tell(&self, stop: &AtomicBool, own: &Evaluated) {
        self.note(stop, |evaluated| {
            evaluated.evidence.clone_from(&own.evidence);
            evaluated.view = own.view.clone();
        });
    }
}

fn reviewed_pgn(Evaluated { game, evidence, view, .. }: &Evaluated) -> Option<String> {
    let review = GameReview::new(game, evidence, None);
    let mut text = Vec::new();
    annotated(&review, &title(view)).write(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn mistakes(game: &PgnGame, evidence: &[Evidence]) -> Arc<[Mistake]> {
    let review = GameReview::new(game, evidence, None);
    let player = |tag| game.tag(tag).filter(|name| name != "?").unwrap_or_else(|| tag.to_owned());
    let players = format!("{} – {}", player("White"), player("Black"));
    let start = game.tag("FEN").is_some().then(|| game.start().fen());
    let moves = game.moves();
    // Of a game against an engine, the person's.
    let own = match ["White", "Black"].map(|tag| game.tag(tag).as_deref() == Some(PERSON)) {
        [true, false] => Some(Color::White),
        [false, true] => Some(Color::Black),
        _ => None,
    };
    let wanted = review.moves.iter().filter(|played| own.is_none_or(|own| played.position.turn() == own));
    let mistakes = wanted.filter_map(|played| {
        let mark = played.mark.map(|mark| mark.symbol()).filter(|sign| ["?", "??"].contains(sign))?;
        let side = played.position.turn().fold_wb("White", "Black");
        Some(Mistake {
            start: start.clone(),
            moves: moves[..played.ply].to_vec(),
            best: *played.best.first()?,
            players: players.clone(),
            place: format!("move {} of {side}", played.position.fullmoves()),
            san: played.san.clone(),
            mark,
            remark: remark(played).unwrap_or_default(),
        })
    });
    mistakes.collect()
}

fn title(view: &ReviewView) -> String {
    format!("{}, {} nodes a position in the mean", view.judge, view.nodes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use engine::chess::pgn::read_games;
    use serde_json::Value;

    /// A shell engine that scores every position 30 centipawns for the mover, plus one per move of the game.
    fn judge(go: &str) -> EngineSpec {
        let script = format!(
            "while read -r l; do case $l in uci) echo option name MultiPV type spin min 1 max 9; echo uciok;; \
             isready) echo readyok;; quit) exit;; position*) p=$l;; go*) {go};; esac; done"
        );
        EngineSpec {
            name: "shell".into(),
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script],
            options: Vec::new(),
        }
    }

    fn game(text: &str) -> ReviewedGame {
        let game = read_games(text.as_bytes()).0.remove(0).1;
        ReviewedGame { board: 1, key: "k".into(), plies: game.moves().len(), game, edition: 0 }
    }

    async fn wait_for(desk: &ReviewDesk, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut state = desk.state.clone();
        loop {
            let view: Value = serde_json::from_str(&state.borrow_and_update()).unwrap();
            if !view.is_null() && is_so(&view) {
                return view;
            }
            state.changed().await.unwrap();
        }
    }

    /// Best moves and scores by the moves played.
    const SCRIPT: &str = "case $p in \
        *f2f3*e7e5*g2g4*) echo info depth 1 score mate 1 pv d8h4; echo bestmove d8h4;; \
        *f2f3*e7e5*e2e4*) echo info depth 1 score cp 40 pv b8c6; echo bestmove b8c6;; \
        *f2f3*e7e5*) echo info depth 1 score cp -40 pv e2e4; echo bestmove e2e4;; \
        *f2f3*) echo info depth 1 score cp 30 pv e7e5; echo bestmove e7e5;; \
        *e2e4*) echo info depth 1 score cp -30 pv e7e5; echo bestmove e7e5;; \
        *) echo info depth 1 score cp 30 pv e2e4 e7e5; echo bestmove e2e4;; esac";

    #[tokio::test]
    async fn a_game_is_reviewed_with_marks_better_lines_and_its_comments() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(folder.path().join("games"));
        let desk = ReviewDesk::new(Some(judge(SCRIPT))).keeping(library.clone());
        assert!(desk.begin(game("1. e4 *"), 1).is_err(), "too few nodes");
        desk.begin(game("[White \"A\"]\n\n1. f3 {odd} e5 2. g4 Qh4# 0-1"), 1000).unwrap();
        let view = wait_for(&desk, |view| view["running"] == false).await;
        assert_eq!((&view["done"], &view["total"], &view["notice"]), (&5.into(), &5.into(), &Value::Null));
        let marks: Vec<_> = view["moves"].as_array().unwrap().iter().map(|m| m["mark"].as_str()).collect();
        assert_eq!(marks, [Some("?!"), None, Some("??"), None]);
        assert_eq!(
            (&view["moves"][2]["best"], &view["moves"][2]["best_uci"][0]),
            (&"2. e4 Nc6".into(), &"e2e4".into())
        );
        assert_eq!(view["players"][0]["errors"], serde_json::json!([1, 0, 1]));
        let (edition, mistakes) = desk.mistakes().unwrap();
        let [mistake] = &mistakes[..] else { panic!("{mistakes:?}") };
        assert_eq!((mistake.place.as_str(), mistake.mark), ("move 2 of White", "??"));
        assert_eq!((mistake.moves.len(), mistake.players.as_str()), (2, "A – Black"));
        assert!(mistake.remark.starts_with("Blunder") && edition.starts_with("k "), "{mistake:?}");
        assert!(Arc::ptr_eq(&mistakes, &desk.mistakes().unwrap().1), "they are kept");
        let engine = "[White \"Philidor\"]\n[Black \"You\"]\n\n1. f3 e5 2. g4 Qh4# 0-1";
        let other = ReviewDesk::new(Some(judge(SCRIPT)));
        other.begin(game(engine), 1000).unwrap();
        wait_for(&other, |view| view["running"] == false).await;
        assert_eq!(other.mistakes().unwrap().1.len(), 0, "the mistake was the engine's");
        let pgn = desk.pgn().unwrap();
        assert!(pgn.contains("{odd}") && pgn.contains("2. g4 $4") && pgn.contains("Annotator"), "{pgn}");
        let [kept] = &library.list()[..] else { panic!("the review is a file of the library") };
        assert!(kept.name.ends_with("review of A, Black") && !kept.unfinished, "{kept:?}");
        let saved = library.read(&kept.name).unwrap();
        assert!(saved.pgn().unwrap().contains("2. g4 $4"), "{saved:?}");
        assert!(String::from_utf8(desk.page().unwrap()).unwrap().contains("<html"));
        // Another review of this game replaces the first, under whatever name; a person's changes are not replaced.
        library.rename(&kept.name, "Mine").unwrap();
        desk.begin(game("[White \"A\"]\n\n1. f3 e5 2. g4 Qh4# 0-1"), 2000).unwrap();
        wait_for(&desk, |view| view["running"] == false && view["nodes"] == 2000).await;
        let names: Vec<String> = library.list().into_iter().map(|game| game.name).collect();
        assert_eq!(names, ["Mine"]);
        let mut again = library.read("Mine").unwrap();
        assert!(again.pgn().unwrap().contains("2000 nodes") && !again.pgn().unwrap().contains("odd"));
        again.review = None;
        library.write("Mine", &again).unwrap();
        desk.begin(game("[White \"B\"]\n\n1. f3 e5 2. g4 Qh4# 0-1"), 1000).unwrap();
        desk.stop();
        desk.begin(game("[White \"A\"]\n\n1. f3 {odd} e5 2. g4 Qh4# 0-1"), 1000).unwrap();
        wait_for(&desk, |view| view["running"] == false && view["nodes"] == 1000).await;
        assert!(library.list().iter().filter(|game| game.name.contains("review of A")).count() == 1);
        assert!(library.list().iter().any(|game| game.name == "Mine"), "{:?}", library.list());
        let other = game("1. f3 $1 {odd [%eval 3.0]} e5 2. g4 Qh4# {White is mated.} 0-1");
        let kept = desk.annotate(other).unwrap();
        let first = kept.game.tree.main_line().next().unwrap();
        let notes = kept.game.tree.notes(first);
        assert_eq!((&*notes.nags, notes.comments.len(), &*notes.comments[1]), (&[6][..], 2, "odd"));
        assert_ne!(kept.game.tree.command(first, "eval"), Some("3.0"));
        let before = kept.game.tree.clone();
        assert!(desk.annotate(kept).unwrap().game.tree == before, "a second time changes nothing");
        let earlier = "1. f3 $4 {[%clk 0:01:00] [%eval -9] Blunder. e4 was best.} {odd} \
                       1... e5 $6 {Inaccuracy. d5 was best.} 2. g4 Qh4# {White is mated.} 0-1";
        let redone = desk.annotate(game(earlier)).unwrap().game.tree;
        let comments = |ply| &redone.notes(redone.main_line().nth(ply).unwrap()).comments[..];
        let remarks = |ply| comments(ply).iter().filter(|comment| comment.contains("was best")).count();
        assert_eq!((remarks(0), remarks(1)), (1, 0), "{:?} {:?}", comments(0), comments(1));
        assert!(comments(0).concat().contains("[%clk 0:01:00]") && comments(0).concat().contains("odd"));
        assert!(
            redone.notes(redone.main_line().nth(1).unwrap()).nags.is_empty(),
            "its mark was the review's"
        );
    }

    #[test]
    fn what_a_stopped_review_has_judged_is_kept_and_replaces_no_complete_one() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(folder.path().join("games"));
        // From its third search on, the engine leaves a sign after 1. f3 e5, and waits until it is stopped.
        let sign = folder.path().join("sign");
        let waits = format!(
            "n=$((n+1)); h=; [ $n -ge 3 ] && case $p in *e7e5*) h=1;; esac; [ $h ] && : > '{}' || {{ {SCRIPT}; }}",
            sign.display()
        );
        let begun = |desk: &ReviewDesk, text: &str| desk.start(game(text), 1000).unwrap();
        let waiting = |review: &JoinHandle<()>| {
            while !sign.exists() {
                assert!(!review.is_finished(), "it ended before its third search");
                std::thread::yield_now();
            }
            std::fs::remove_file(&sign).unwrap();
        };
        let text = "[White \"A\"]\n\n1. f3 e5 2. g4 Qh4# 0-1";
        let stopped = ReviewDesk::new(Some(judge(&waits))).keeping(library.clone());
        let notice = || {
            let view: Value = serde_json::from_str(&stopped.state.borrow()).unwrap();
            view["notice"].as_str().unwrap_or_default().to_owned()
        };
        let review = begun(&stopped, text);
        waiting(&review);
        stopped.stop();
        review.join().unwrap();
        assert!(notice().contains("also in Games"), "{}", notice());
        let [file] = &library.list()[..] else { panic!("{:?}", library.list()) };
        assert!(file.name.ends_with("review of A, Black"), "{file:?}");
        let is_complete = || library.read(&file.name).unwrap().review.unwrap().complete;
        assert!(!is_complete());
        let whole = ReviewDesk::new(Some(judge(SCRIPT))).keeping(library.clone());
        begun(&whole, text).join().unwrap();
        assert_eq!((is_complete(), library.list().len()), (true, 1), "it goes on in the same file");
        let review = begun(&stopped, text);
        waiting(&review);
        // Another game's review replaces it; what was judged of the first is not written over the complete one.
        let other = begun(&stopped, "1. f3 *");
        review.join().unwrap();
        other.join().unwrap();
        assert_eq!((is_complete(), library.list().len()), (true, 2));
        assert_eq!(notice(), "", "the later review was not stopped");
    }

    #[tokio::test]
    async fn moves_after_the_games_end_are_not_reviewed_but_kept() {
        let desk = ReviewDesk::new(Some(judge(SCRIPT)));
        let resigned = || ReviewedGame { plies: 2, ..game("1. f3 e5 2. g4 Qh4# 0-1") };
        desk.begin(resigned(), 1000).unwrap();
        let view = wait_for(&desk, |view| view["running"] == false).await;
        assert_eq!((&view["total"], view["moves"].as_array().unwrap().len()), (&3.into(), 2));
        assert_eq!(desk.annotate(resigned()).unwrap().game.moves().len(), 4);
        assert!(desk.annotate(game("1. f3 e5 2. g4 Qh4# 0-1")).is_err(), "that game is longer");
    }

    #[tokio::test]
    async fn an_engine_that_fails_is_told_and_a_review_can_be_stopped_and_replaced() {
        let desk = ReviewDesk::new(Some(judge("exit 3")));
        desk.begin(game("1. e4 e5 *"), 1000).unwrap();
        let view = wait_for(&desk, |view| view["running"] == false).await;
        assert!(view["notice"].as_str().unwrap().contains("ended (exit status: 3)"), "{view}");
        let desk = ReviewDesk::new(Some(judge(":")));
        desk.begin(game("1. e4 e5 *"), 1000).unwrap();
        desk.begin(game("1. d4 *"), 1000).unwrap();
        wait_for(&desk, |view| view["total"] == 2).await;
        assert_eq!(desk.running_on(), Some(1), "so no other board's review begins");
        desk.stop();
        let view = wait_for(&desk, |view| view["running"] == false).await;
        assert_eq!(desk.running_on(), None);
        assert!(view["notice"].as_str().unwrap().contains("stopped"));
        assert!(ReviewDesk::new(None).begin(game("1. e4 *"), 1000).is_err());
    }
}
