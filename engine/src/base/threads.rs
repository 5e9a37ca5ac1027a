//! Threads: the operating system's, or in WebAssembly with shared memory those that the host starts on request.
//!
//! A host's thread calls [`serve`] and takes whatever is to be done. It stays for the next job, because the host takes
//! long to start one.

#[cfg(target_feature = "atomics")]
pub use self::hosted::{serve, set_host};

/// WebAssembly has threads only if its memory is shared.
pub const AVAILABLE: bool = cfg!(any(not(target_family = "wasm"), target_feature = "atomics"));

#[derive(Debug)]
pub struct Thread(
    #[cfg(not(target_feature = "atomics"))] std::thread::JoinHandle<()>,
    #[cfg(target_feature = "atomics")] hosted::Running,
);

/// Runs `job` in a thread of its own. Panics if there can be no further thread.
pub fn spawn(name: String, job: impl FnOnce() + Send + 'static) -> Thread {
    #[cfg(not(target_feature = "atomics"))]
    let thread = std::thread::Builder::new().name(name).spawn(job).expect("a further thread");
    #[cfg(target_feature = "atomics")]
    let thread = hosted::run(&name, job);
    Thread(thread)
}

impl Thread {
    /// Waits until a host's thread, which takes long to start, has begun the job.
    pub fn wait_for_begin(&self) {
        #[cfg(target_feature = "atomics")]
        self.0.wait_for_begin();
    }

    /// Waits for the end of the job. Returns whether it ended without a panic.
    pub fn join(self) -> bool {
        #[cfg(not(target_feature = "atomics"))]
        return self.0.join().is_ok();
        #[cfg(target_feature = "atomics")]
        return self.0.join();
    }
}

#[cfg(target_feature = "atomics")]
mod hosted {
    use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

    use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

    type Job = Box<dyn FnOnce() + Send>;

    static JOBS: LazyLock<(Sender<Job>, Receiver<Job>)> = LazyLock::new(unbounded);

    /// Threads that wait for a job which nobody has ordered yet.
    static IDLE: Mutex<usize> = Mutex::new(0);

    static START: OnceLock<fn()> = OnceLock::new();

    /// `start` makes the host start a thread that calls [`serve`], and returns at once. Until it is set, the host starts
    /// one for each [`spawn`](super::spawn) by itself.
    pub fn set_host(start: fn()) {
        START.get_or_init(|| start);
    }

    /// The job holds the senders: that of `waiting` until it begins, that of `working` until it ends.
    #[derive(Debug)]
    pub struct Running {
        waiting: Receiver<Never>,
        working: Receiver<Never>,
    }

    #[derive(Debug)]
    enum Never {}

    pub(super) fn run(name: &str, job: impl FnOnce() + Send + 'static) -> Running {
        let ((before, waiting), (until, working)) = (bounded(0), bounded(0));
        let job = move || {
            drop(before);
            job();
            // Before others learn of the end, so that they do not start one more thread.
            *IDLE.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            drop(until);
        };
        JOBS.0.send(Box::new(job)).expect("the receiver is never dropped");
        if !take_idle() {
            log::debug!("the host starts a thread for {name}");
            if let Some(start) = START.get() {
                start();
            }
        }
        Running { waiting, working }
    }

    impl Running {
        pub fn wait_for_begin(&self) {
            // Fails when the sender is dropped.
            let _ = self.waiting.recv();
        }

        /// A panic ends the program, so that there is no other end.
        pub fn join(self) -> bool {
            self.working.recv().is_err()
        }
    }

    fn take_idle() -> bool {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = *idle > 0;
        *idle -= usize::from(is_idle);
        is_idle
    }

    /// Does jobs for ever.
    pub fn serve() {
        for job in &JOBS.1 {
            job();
        }
    }
}
