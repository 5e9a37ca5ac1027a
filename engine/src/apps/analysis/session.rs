use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, at, never, unbounded};
use shakmaty::Move;

use super::answer::{ActionReply, AnalysisAnswer, ErrorReply, line};
use super::observer::{AnswerWriter, EndedSearch};
use super::queue::{Job, JobQueue, RunningJob};
use super::request::{self, AnalysisRequest, Query, QueryDefaults, QueryId, RequestError};
use crate::apps::io::{InputLine, Writer};
use crate::search::{Limits, MultiPool, Params, SearchTask};
use crate::setup::options::descriptions;
use crate::setup::{Engine, LoadError, RootMoves, workers};

pub const MOST_WAITING: usize = 100_000;

pub struct AnalysisSession {
    out: Writer,
    defaults: QueryDefaults,
    engine: Engine,
    params: Params,
    pool: MultiPool,
    queue: JobQueue,
    sender: Sender<EndedSearch>,
    ended: Receiver<EndedSearch>,
}

impl AnalysisSession {
    /// `nodes` applies to queries without a limit.
    pub fn new(engine: Engine, nodes: u64, out: Writer) -> Result<AnalysisSession, LoadError> {
        let (pool, params, memory) = engine.multi_pool()?;
        let settings = engine.settings();
        let (sender, ended) = unbounded();
        Ok(AnalysisSession {
            out,
            defaults: QueryDefaults { nodes, multipv: settings.multipv, chess960: settings.chess960 },
            params,
            queue: JobQueue::new(pool.capacity(), memory),
            engine,
            pool,
            sender,
            ended,
        })
    }

    pub fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    pub fn ended(&self) -> &Receiver<EndedSearch> {
        &self.ended
    }

    pub fn timer(&self) -> Receiver<Instant> {
        self.queue.running().filter_map(|running| running.deadline).min().map_or_else(never, at)
    }

    /// An invalid line is answered with an error and changes nothing.
    pub fn line(&mut self, input: &InputLine) {
        let unreadable =
            |error: &dyn ToString| RequestError { id: None, key: None, error: error.to_string() };
        let request = match &input.text {
            Ok(text) if text.trim().is_empty() => return,
            Ok(text) => request::parse(text, self.defaults),
            Err(error) => Err(unreadable(error)),
        };
        if let Err(error) = request.and_then(|request| self.execute(request)) {
            self.out.line(line(&ErrorReply::from(error)));
        }
    }

    fn execute(&mut self, request: AnalysisRequest) -> Result<(), RequestError> {
        match request {
            AnalysisRequest::Query(query) => self.ask(*query)?,
            AnalysisRequest::Terminate { id, turns } => {
                let is_meant = |job: &Job| {
                    job.query.id == id && turns.as_ref().is_none_or(|turns| turns.contains(&job.turn))
                };
                self.terminate(is_meant, |stopped| ActionReply::Terminate { id: &id, stopped });
            }
            AnalysisRequest::TerminateAll { id } => {
                self.terminate(|_| true, |stopped| ActionReply::TerminateAll { id, stopped });
            }
            AnalysisRequest::Version { id } => self.out.line(line(&ActionReply::Version {
                id,
                version: env!("CARGO_PKG_VERSION"),
                commit: env!("PHILIDOR_COMMIT"),
                network: &self.engine.describe_network(),
                threads: workers(self.engine.settings()),
                searches: self.pool.capacity(),
            })),
            AnalysisRequest::Options { id } => {
                self.out.line(line(&ActionReply::Options { id, options: descriptions() }));
            }
        }
        Ok(())
    }

    fn ask(&mut self, query: Query) -> Result<(), RequestError> {
        let refused = |id: &QueryId, key: &str, error: String| {
            Err(RequestError { id: Some(id.clone()), key: Some(key.to_owned()), error })
        };
        if self.queue.has(&query.id) {
            return refused(
                &query.id,
                "id",
                "an earlier query with this id is still being answered".to_owned(),
            );
        }
        if self.queue.waiting() + query.turns.len() > MOST_WAITING {
            return refused(
                &query.id,
                "turns",
                format!("at most {MOST_WAITING} positions can wait to be searched"),
            );
        }
        self.queue.add(&Arc::new(query));
        self.start_searches();
        Ok(())
    }

    /// Writes the reply before the final answers.
    fn terminate<'a>(
        &mut self,
        is_meant: impl Fn(&Job) -> bool,
        reply: impl FnOnce(usize) -> ActionReply<'a>,
    ) {
        let waiting = self.queue.remove(&is_meant);
        let running: Vec<_> = self
            .queue
            .running()
            .filter(|running| is_meant(&running.job))
            .map(|running| {
                running.is_terminated.store(true, Ordering::Relaxed);
                running.id
            })
            .collect();
        self.out.line(line(&reply(waiting.len() + running.len())));
        for Job { query, turn } in waiting {
            self.out.line(line(&AnalysisAnswer::unsearched(&query, turn)));
        }
        running.into_iter().for_each(|id| self.pool.stop(id));
        self.start_searches();
    }

    pub fn end(&mut self, ended: EndedSearch) {
        self.queue.end(ended.number);
        self.out.line(ended.answer);
        self.engine.book_and_tables().tables().warnings().iter().for_each(|warning| log::warn!("{warning}"));
        self.start_searches();
    }

    pub fn stop_overdue(&mut self, now: Instant) {
        self.queue.overdue(now).into_iter().for_each(|id| self.pool.stop(id));
    }

    fn start_searches(&mut self) {
        while let Some((number, job, memory)) = self.queue.take_next() {
            self.start(number, job, memory);
        }
    }

    fn start(&mut self, number: u64, job: Job, memory: usize) {
        let query = &job.query;
        let game = query.game(job.turn);
        // The parser has checked that these moves are legal.
        let asked: Vec<Move> =
            query.searchmoves.iter().filter_map(|text| game.parse_uci(text).ok()).collect();
        let RootMoves { moves: root_moves, known, hits: root_hits } =
            self.engine.book_and_tables().root_moves(&game, asked, query.multipv);
        let begin = Instant::now();
        let is_terminated = Arc::<AtomicBool>::default();
        let observer = AnswerWriter {
            query: Arc::clone(query),
            turn: job.turn,
            game: game.clone(),
            root_hits,
            temperature: self.params.root_policy_temperature,
            begin,
            shown_at: begin,
            is_terminated: Arc::clone(&is_terminated),
            out: self.out.clone(),
            ended: self.sender.clone(),
            number,
        };
        let limits = Limits {
            visits: query.nodes,
            root_moves,
            known,
            all_moves: query.multipv > 1,
            ..Limits::default()
        };
        let (params, priority) = (self.params.clone(), query.priority);
        let deadline = query.movetime.map(|movetime| begin + movetime);
        let task = SearchTask { root: game, limits, params, priority, memory };
        let id = self.pool.start(task, Box::new(observer));
        self.queue.begin(number, RunningJob { job, id, memory, deadline, is_terminated });
    }
}
