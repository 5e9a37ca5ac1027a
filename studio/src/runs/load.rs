//! How busy this machine is.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use sysinfo::System;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadView {
    pub cores: usize,
    /// Share of all cores since the last measurement, 0 to 1.
    pub busy: f32,
    /// In bytes.
    pub used: u64,
    pub memory: u64,
}

#[derive(Clone, Debug)]
pub struct MachineLoad(Arc<Mutex<Option<System>>>);

impl Default for MachineLoad {
    fn default() -> MachineLoad {
        MachineLoad(Arc::new(Mutex::new(System::new().ok())))
    }
}

impl MachineLoad {
    /// `None` where the operating system does not tell.
    pub fn measure(&self) -> Option<LoadView> {
        let mut system = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let system = system.as_mut()?;
        system.refresh_cpu_usage();
        system.refresh_memory();
        Some(LoadView {
            cores: system.cpus().len(),
            busy: (system.global_cpu_usage() / 100.0).clamp(0.0, 1.0),
            used: system.used_memory(),
            memory: system.total_memory(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_cores_and_memory_and_uses_some() {
        let load = MachineLoad::default().measure().unwrap();
        assert!(load.cores > 0 && (0.0..=1.0).contains(&load.busy), "{load:?}");
        assert!(load.used > 0 && load.used <= load.memory, "{load:?}");
    }
}
