use serde::Serialize;
use sysinfo::{Gpus, System};

use crate::nets::onnx::runtime_library;
use crate::setup::settings::processors;

#[derive(Clone, Debug, Serialize)]
pub(super) struct Machine {
    pub system: String,
    /// Of this program, such as `x86_64`.
    pub architecture: &'static str,
    pub processor: String,
    pub features: Vec<&'static str>,
    /// Physical cores.
    pub cores: usize,
    /// Logical processors that this program may use.
    pub processors: usize,
    /// MiB; the control group's, if less.
    pub memory: u64,
    /// MiB.
    pub free_memory: u64,
    /// System load, averaged over the last minute; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    pub gpus: Vec<String>,
}

impl Machine {
    pub fn look() -> Machine {
        let mut system = System::new().ok();
        if let Some(system) = &mut system {
            system.refresh_memory();
            system.refresh_cpu_all();
        }
        let mut memory =
            system.as_ref().map_or((0, 0), |system| (system.total_memory(), system.available_memory()));
        if let Some(group) = system.as_ref().and_then(System::cgroup_limits) {
            memory = (memory.0.min(group.total_memory), memory.1.min(group.free_memory));
        }
        let brand = system.as_ref().and_then(|system| Some(system.cpus().first()?.brand().trim().to_owned()));
        Machine {
            system: System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.to_owned()),
            architecture: std::env::consts::ARCH,
            processor: brand.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned()),
            features: features(),
            cores: num_cpus::get_physical(),
            processors: processors(),
            memory: memory.0 >> 20,
            free_memory: memory.1 >> 20,
            load: System::load_average().ok().map(|load| load.one).filter(|_| cfg!(unix)),
            gpus: gpus(),
        }
    }

    pub fn is_without_vectors(&self) -> bool {
        self.architecture == "x86_64" && !self.features.contains(&"avx2")
    }
}

fn gpus() -> Vec<String> {
    let Ok(gpus) = Gpus::new_with_refreshed_list() else { return Vec::new() };
    let name = |gpu: &sysinfo::Gpu| {
        let words = [gpu.vendor(), gpu.model()].into_iter().flatten().collect::<Vec<_>>().join(" ");
        if words.is_empty() { "unknown".to_owned() } else { words }
    };
    gpus.iter().map(name).collect()
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    let all = [
        ("sse4.2", std::arch::is_x86_feature_detected!("sse4.2")),
        ("popcnt", std::arch::is_x86_feature_detected!("popcnt")),
        ("avx", std::arch::is_x86_feature_detected!("avx")),
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("bmi2", std::arch::is_x86_feature_detected!("bmi2")),
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
        ("avx512bw", std::arch::is_x86_feature_detected!("avx512bw")),
        ("avx512vnni", std::arch::is_x86_feature_detected!("avx512vnni")),
    ];
    all.into_iter().filter_map(|(name, has)| has.then_some(name)).collect()
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<&'static str> {
    let all = [
        ("neon", std::arch::is_aarch64_feature_detected!("neon")),
        ("dotprod", std::arch::is_aarch64_feature_detected!("dotprod")),
        ("i8mm", std::arch::is_aarch64_feature_detected!("i8mm")),
    ];
    all.into_iter().filter_map(|(name, has)| has.then_some(name)).collect()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Runtime {
    /// File name, which usually contains the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Runtime {
    pub fn look() -> Runtime {
        match runtime_library() {
            Ok(library) => Runtime { library: Some(library.display().to_string()), error: None },
            Err(error) => Runtime { library: None, error: Some(error.to_string()) },
        }
    }
}
