//! What runs networks in the games of a run.

use tch::Device;

use crate::config::{Runtime, worker_count};

impl Runtime {
    /// Whether networks play in libtorch, if they learn on `device`.
    pub fn is_torch(self, device: Device) -> bool {
        match self {
            Runtime::Auto => device != Device::Cpu,
            Runtime::Onnx => false,
            Runtime::Torch => true,
        }
    }

    /// Threads to play on, of which 0 leaves the number to us: one a core, as each has a session of its own; of
    /// libtorch, which has threads of its own, or a GPU, a single one, which batches for all games.
    pub fn workers(self, device: Device, wished: usize) -> usize {
        if wished == 0 && self.is_torch(device) { 1 } else { worker_count(wished) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LearnConfig;
    use crate::config::rl::Preset;

    #[test]
    fn networks_play_in_libtorch_where_there_is_a_gpu_or_it_is_wished() {
        let gpu = Device::Cuda(0);
        let config = LearnConfig::load(Preset::Gpu, &[], &["pretrain_mix_ratio=0".to_owned()]).unwrap();
        assert_eq!(config.runtime.workers(gpu, config.play.workers), 1, "for all games together");
        let torch = [Runtime::Auto, Runtime::Onnx, Runtime::Torch].map(|runtime| runtime.is_torch(gpu));
        assert_eq!(torch, [true, false, true]);
        assert!(!Runtime::Auto.is_torch(Device::Cpu) && Runtime::Torch.is_torch(Device::Cpu));
        assert_eq!((Runtime::Auto.workers(gpu, 0), Runtime::Auto.workers(gpu, 3)), (1, 3));
        assert_eq!(Runtime::Auto.workers(Device::Cpu, 0), worker_count(0));
        let config = LearnConfig::load(Preset::Tiny, &[], &["runtime=torch".to_owned()]).unwrap();
        assert_eq!(config.runtime, Runtime::Torch);
        let error = LearnConfig::load(Preset::Tiny, &[], &["runtime=tensorrt".to_owned()]).unwrap_err();
        assert!(error.contains("tensorrt") && error.contains("`torch`"), "{error}");
    }
}
