//! Parallel map whose result does not depend on the number of threads.

use std::sync::Mutex;

/// Answers are in the order of the tasks. Threads take tasks in order, so a task must not wait for a later one.
pub fn map<T: Send, R: Send>(threads: usize, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    if threads <= 1 || tasks.len() <= 1 {
        return tasks.into_iter().map(work).collect();
    }
    let mut answers: Vec<Option<R>> = tasks.iter().map(|_| None).collect();
    let queue = Mutex::new(tasks.into_iter().zip(&mut answers));
    let worker = || {
        loop {
            let next = queue.lock().expect("no worker panics with the queue").next();
            let Some((task, answer)) = next else { break };
            *answer = Some(work(task));
        }
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(worker)));
        worker();
    });
    answers.into_iter().map(|answer| answer.expect("every task was done")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_in_order() {
        for threads in [1, 2, 5] {
            let squares = map(threads, (0..100).collect(), |x: u64| x * x);
            assert_eq!(squares, (0..100).map(|x| x * x).collect::<Vec<u64>>());
            assert_eq!(map(threads, Vec::<u64>::new(), |x| x), [0; 0]);
        }
    }
}
