//! Threads that make batches ahead of the learner.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, bounded};
use engine::eval::Network;

use super::batch::{Batch, Origin};
use super::order::DAMAGED;
use super::order::SampleOrder;
use super::teacher::Teacher;

/// Batches waiting per thread.
const AHEAD: usize = 4;

/// A batch with its number and how often a damaged game had to be stood in for, or why there is none.
type Made = (u64, Result<(Batch, usize), String>);

/// An endless iterator over a plan's batches, in order, made by threads of its own.
///
/// Dropping it ends the threads.
pub struct Prefetch {
    plan: Arc<SampleOrder>,
    teacher: Option<Teacher>,
    receiver: Option<Receiver<Made>>,
    early: BTreeMap<u64, Batch>,
    next: u64,
    damaged: usize,
    threads: Vec<JoinHandle<()>>,
}

impl Prefetch {
    /// Starts `threads` threads (at least one) at batch number `first`.
    pub fn new(plan: Arc<SampleOrder>, first: u64, threads: usize) -> Prefetch {
        let teachers = (0..threads.max(1) + 1).map(|_| None).collect();
        Prefetch::start(plan, first, teachers)
    }

    /// The same, with a teacher for every thread.
    ///
    /// # Errors
    ///
    /// One line, if ONNX Runtime can't run it.
    pub fn taught(
        plan: Arc<SampleOrder>,
        first: u64,
        threads: usize,
        network: &Network,
    ) -> Result<Prefetch, String> {
        let teachers = (0..threads.max(1) + 1).map(|_| Teacher::new(network).map(Some));
        Ok(Prefetch::start(plan, first, teachers.collect::<Result<_, _>>()?))
    }

    /// The first teacher is for what is asked for again, the others for a thread each.
    fn start(plan: Arc<SampleOrder>, first: u64, mut teachers: Vec<Option<Teacher>>) -> Prefetch {
        let teacher = teachers.swap_remove(0);
        let (sender, receiver) = bounded(teachers.len() * AHEAD);
        let counter = Arc::new(AtomicU64::new(first));
        let work = |(index, mut teacher): (usize, Option<Teacher>)| {
            let (plan, counter, sender) = (Arc::clone(&plan), Arc::clone(&counter), sender.clone());
            std::thread::Builder::new()
                .name(format!("loader-{index}"))
                .spawn(move || {
                    loop {
                        let k = counter.fetch_add(1, Ordering::Relaxed);
                        // Moves that make no sense may break what replays them.
                        let made = catch_unwind(AssertUnwindSafe(|| plan.batch(k, teacher.as_mut())));
                        let made = made.unwrap_or_else(|_| Err(DAMAGED.into()));
                        if sender.send((k, made)).is_err() {
                            break;
                        }
                    }
                })
                .expect("a thread for the loader")
        };
        let threads = teachers.into_iter().enumerate().map(work).collect();
        let receiver = Some(receiver);
        Prefetch { plan, teacher, receiver, early: BTreeMap::new(), next: first, damaged: 0, threads }
    }

    /// The samples of these origins, in their order.
    ///
    /// # Errors
    ///
    /// As for [`Prefetch::next_batch`].
    pub fn again(&mut self, origins: &[Origin]) -> Result<Batch, String> {
        Ok(self.plan.collect(origins, self.teacher.as_mut())?.0)
    }

    /// The number of the batch that comes next: where a later run goes on.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// How often a damaged game had to be stood in for so far.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    /// The next batch; waits until it is made.
    ///
    /// # Errors
    ///
    /// One line: the games can't be read, are so damaged that no batch can be made of them, or the teacher fails.
    pub fn next_batch(&mut self) -> Result<Batch, String> {
        let receiver = self.receiver.as_ref().expect("open until dropped");
        loop {
            if let Some(batch) = self.early.remove(&self.next) {
                self.next += 1;
                return Ok(batch);
            }
            let (k, made) = receiver.recv().expect("loader threads live as long as this");
            let (batch, damaged) = made?;
            self.damaged += damaged;
            self.early.insert(k, batch);
        }
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        // Closing the channel is what ends the threads.
        self.receiver = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                log::error!("a loader thread panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::corpus::CorpusBuilder;
    use crate::loader::order::Source;
    use crate::record::GameView;
    use crate::samples::SampleOptions;

    fn plan() -> Arc<SampleOrder> {
        let mut builder = CorpusBuilder::new(&std::env::temp_dir()).unwrap();
        for to in [28u16, 20, 27, 19] {
            let from = if to % 8 == 4 { 12 } else { 11 };
            builder.push(&GameView { moves: &[from | to << 6], ..GameView::default() }).unwrap();
        }
        let source = Source { corpus: Arc::new(builder.build().unwrap()), weight: 1.0 };
        Arc::new(SampleOrder::new(vec![source], SampleOptions::default(), 3, 5).unwrap())
    }

    #[test]
    fn any_number_of_threads_gives_the_same_batches() {
        let take = |threads, first, count: u64| {
            let mut prefetch = Prefetch::new(plan(), first, threads);
            (0..count).map(|_| prefetch.next_batch().unwrap()).collect::<Vec<_>>()
        };
        let alone = take(1, 0, 40);
        assert_eq!(take(4, 0, 40), alone);
        assert_eq!(take(3, 30, 10), alone[30..], "a later start goes on with the same batches");
    }

    #[test]
    fn hopelessly_damaged_games_are_an_error_not_a_wait() {
        let mut builder = CorpusBuilder::new(&std::env::temp_dir()).unwrap();
        builder.push(&GameView { moves: &[12 | 60 << 6], ..GameView::default() }).unwrap();
        let source = Source { corpus: Arc::new(builder.build().unwrap()), weight: 1.0 };
        let plan = SampleOrder::new(vec![source], SampleOptions::default(), 3, 5).unwrap();
        let mut prefetch = Prefetch::new(Arc::new(plan), 0, 2);
        assert!(prefetch.next_batch().unwrap_err().contains("inspect"));
    }

    #[test]
    fn its_position_is_the_next_batch() {
        let mut prefetch = Prefetch::new(plan(), 7, 2);
        prefetch.next_batch().unwrap();
        assert_eq!((prefetch.position(), prefetch.damaged()), (8, 0));
    }
}
