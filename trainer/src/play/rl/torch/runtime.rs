use tch::Device;

use crate::config::{Runtime, worker_count};

impl Runtime {
    pub fn is_torch(self, device: Device) -> bool {
        match self {
            Runtime::Auto => device != Device::Cpu,
            Runtime::Onnx => false,
            Runtime::Torch => true,
        }
    }

    /// 0 is one thread per core, or with libtorch one thread, so that all games share its batches.
    pub fn workers(self, device: Device, workers: usize) -> usize {
        if workers == 0 && self.is_torch(device) { 1 } else { worker_count(workers) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RlConfig, RlPreset};

    #[test]
    fn networks_play_in_libtorch_on_a_gpu_or_if_the_configuration_says_so() {
        let gpu = Device::Cuda(0);
        let config = RlConfig::load(RlPreset::Gpu, &[], &["pretrain_mix_ratio=0".to_owned()]).unwrap();
        assert_eq!(config.runtime.workers(gpu, config.play.workers), 1, "for all games together");
        let torch = [Runtime::Auto, Runtime::Onnx, Runtime::Torch].map(|runtime| runtime.is_torch(gpu));
        assert_eq!(torch, [true, false, true]);
        assert!(!Runtime::Auto.is_torch(Device::Cpu) && Runtime::Torch.is_torch(Device::Cpu));
        assert_eq!((Runtime::Auto.workers(gpu, 0), Runtime::Auto.workers(gpu, 3)), (1, 3));
        assert_eq!(Runtime::Auto.workers(Device::Cpu, 0), worker_count(0));
        let config = RlConfig::load(RlPreset::Tiny, &[], &["runtime=torch".to_owned()]).unwrap();
        assert_eq!(config.runtime, Runtime::Torch);
        let error = RlConfig::load(RlPreset::Tiny, &[], &["runtime=tensorrt".to_owned()]).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains("tensorrt") && error.contains("`torch`"), "{error}");
    }
}
