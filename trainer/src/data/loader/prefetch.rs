//! Threads that make batches ahead of the learner.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::anyhow;
use crossbeam_channel::{Receiver, bounded};

use super::batch::{Batch, Origin};
use super::order::{DAMAGED, SampleOrder};
use super::teacher::{OpenEvaluator, Teacher};

/// Finished batches that wait per thread.
const AHEAD: usize = 4;

/// Batch number; batch and its number of replaced damaged games.
type NumberedBatch = (u64, anyhow::Result<(Batch, usize)>);

/// An endless ordered stream of batches. Its threads end when it is dropped.
pub struct Prefetch {
    order: Arc<SampleOrder>,
    teacher: Option<Teacher>,
    receiver: Option<Receiver<NumberedBatch>>,
    early: BTreeMap<u64, Batch>,
    next: u64,
    damaged: usize,
    threads: Vec<JoinHandle<()>>,
}

impl Prefetch {
    /// With at least one thread.
    pub fn new(order: Arc<SampleOrder>, first: u64, threads: usize) -> Prefetch {
        let teachers = (0..threads.max(1) + 1).map(|_| None).collect();
        Prefetch::start(order, first, teachers)
    }

    /// Like [`Prefetch::new`], with a teacher per thread.
    pub fn with_teacher(
        order: Arc<SampleOrder>,
        first: u64,
        threads: usize,
        teacher: &OpenEvaluator<'_>,
    ) -> anyhow::Result<Prefetch> {
        let teachers = (0..threads.max(1) + 1).map(|_| Teacher::new(teacher).map(Some));
        Ok(Prefetch::start(order, first, teachers.collect::<Result<_, _>>()?))
    }

    /// The first teacher is for [`Prefetch::again`], the others are for the threads.
    fn start(order: Arc<SampleOrder>, first: u64, mut teachers: Vec<Option<Teacher>>) -> Prefetch {
        let teacher = teachers.swap_remove(0);
        let (sender, receiver) = bounded(teachers.len() * AHEAD);
        let counter = Arc::new(AtomicU64::new(first));
        let work = |(index, mut teacher): (usize, Option<Teacher>)| {
            let (order, counter, sender) = (Arc::clone(&order), Arc::clone(&counter), sender.clone());
            std::thread::Builder::new()
                .name(format!("loader-{index}"))
                .spawn(move || {
                    loop {
                        let k = counter.fetch_add(1, Ordering::Relaxed);
                        // Illegal moves may cause a panic in the replay.
                        let made = catch_unwind(AssertUnwindSafe(|| order.batch(k, teacher.as_mut())));
                        let made = made.unwrap_or_else(|_| Err(anyhow!(DAMAGED)));
                        if sender.send((k, made)).is_err() {
                            break;
                        }
                    }
                })
                .expect("a thread can be started")
        };
        let threads = teachers.into_iter().enumerate().map(work).collect();
        let receiver = Some(receiver);
        Prefetch { order, teacher, receiver, early: BTreeMap::new(), next: first, damaged: 0, threads }
    }

    /// Repeats samples.
    pub fn again(&mut self, origins: &[Origin]) -> anyhow::Result<Batch> {
        Ok(self.order.collect(origins, self.teacher.as_mut())?.0)
    }

    /// The next batch's number, at which a resumed run continues.
    pub fn position(&self) -> u64 {
        self.next
    }

    pub fn damaged(&self) -> usize {
        self.damaged
    }

    pub fn next_batch(&mut self) -> anyhow::Result<Batch> {
        let receiver = self.receiver.as_ref().expect("open until it is dropped");
        loop {
            if let Some(batch) = self.early.remove(&self.next) {
                self.next += 1;
                return Ok(batch);
            }
            let (k, made) = receiver.recv().expect("the threads run until it is dropped");
            let (batch, damaged) = made?;
            self.damaged += damaged;
            self.early.insert(k, batch);
        }
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        // Closing the channel ends the threads.
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
    use crate::data::loader::corpus::CorpusBuilder;
    use crate::data::loader::order::Source;
    use crate::data::record::GameView;
    use crate::data::samples::SampleOptions;

    fn order() -> Arc<SampleOrder> {
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
            let mut prefetch = Prefetch::new(order(), first, threads);
            (0..count).map(|_| prefetch.next_batch().unwrap()).collect::<Vec<_>>()
        };
        let alone = take(1, 0, 40);
        assert_eq!(take(4, 0, 40), alone);
        assert_eq!(take(3, 30, 10), alone[30..], "a later start continues with the same batches");
    }

    #[test]
    fn a_source_of_damaged_games_is_an_error() {
        let mut builder = CorpusBuilder::new(&std::env::temp_dir()).unwrap();
        builder.push(&GameView { moves: &[12 | 60 << 6], ..GameView::default() }).unwrap();
        let source = Source { corpus: Arc::new(builder.build().unwrap()), weight: 1.0 };
        let order = SampleOrder::new(vec![source], SampleOptions::default(), 3, 5).unwrap();
        let mut prefetch = Prefetch::new(Arc::new(order), 0, 2);
        assert!(prefetch.next_batch().unwrap_err().to_string().contains("inspect"));
    }

    #[test]
    fn its_position_is_the_next_batch() {
        let mut prefetch = Prefetch::new(order(), 7, 2);
        prefetch.next_batch().unwrap();
        assert_eq!((prefetch.position(), prefetch.damaged()), (8, 0));
    }
}
