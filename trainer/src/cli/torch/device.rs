use anyhow::{Result, bail};
use tch::Device;

use crate::cli::setting_args::{DeviceChoice, SettingArgs};
use crate::config::TrainConfig;
use crate::learn::torch::keep_freed_memory;

impl DeviceChoice {
    pub fn device(self) -> Result<Device> {
        match (self, tch::Cuda::is_available()) {
            (DeviceChoice::Cpu, _) | (DeviceChoice::Auto, false) => Ok(Device::Cpu),
            (_, true) => Ok(Device::Cuda(0)),
            (DeviceChoice::Cuda, false) => bail!(
                "libtorch finds no CUDA GPU. With a CUDA build of libtorch, add its lib folder to LD_LIBRARY_PATH and \
                 its libtorch_cuda.so to LD_PRELOAD; otherwise use --device cpu"
            ),
        }
    }

    /// On a CPU the process may restart itself.
    pub fn prepare(self, config: &mut TrainConfig) -> Result<Device> {
        let device = self.device()?;
        if device == Device::Cpu {
            keep_freed_memory();
        }
        if config.torch_threads > 0 {
            tch::set_num_threads(config.torch_threads as i32);
        }
        // Resolved now, so that a resumed run has the same precision.
        config.precision = config.precision.resolved(device);
        Ok(device)
    }
}

impl SettingArgs {
    pub fn prepare(&self, config: &mut TrainConfig) -> Result<Device> {
        self.device.prepare(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_refused_where_there_is_none() {
        assert_eq!(DeviceChoice::Cpu.device().unwrap(), Device::Cpu);
        let chosen = [DeviceChoice::Auto, DeviceChoice::Cuda].map(DeviceChoice::device);
        match (tch::Cuda::is_available(), chosen) {
            (true, chosen) => assert!(chosen.into_iter().all(|device| device.unwrap() == Device::Cuda(0))),
            (false, [auto, cuda]) => {
                assert_eq!(auto.unwrap(), Device::Cpu);
                let error = cuda.unwrap_err().to_string();
                assert!(
                    error.starts_with("libtorch finds no CUDA GPU.") && error.ends_with("--device cpu"),
                    "{error}"
                );
            }
        }
    }
}
