//! The calls of ONNX Runtime that WebAssembly, which loads no libraries, does not have.

#[cfg(target_family = "wasm")]
pub(super) use absent::*;
#[cfg(not(target_family = "wasm"))]
pub(super) use native::*;

#[cfg(not(target_family = "wasm"))]
mod native {
    use std::path::Path;

    use ort::environment::Environment;
    use ort::ep::CUDA;
    use ort::ep::cuda::{ConvAlgorithmSearch, preload_dylibs};
    use ort::logging::LogLevel;
    use ort::session::builder::SessionBuilder;
    use ort::session::{Session, SessionInputs, SessionOutputs};

    /// Loads `library`; the error names it.
    pub fn load(library: &Path) -> Result<Environment, String> {
        let builder = ort::init_from(library).map_err(|error| error.to_string())?;
        let built = builder.with_name("philidor").with_telemetry(false).build();
        let environment = built.map_err(|error| format!("{}: {error}", library.display()))?;
        environment.set_log_level(LogLevel::Error);
        Ok(environment)
    }

    pub fn commit(builder: &mut SessionBuilder, network: &[u8]) -> ort::Result<Session> {
        builder.commit_from_memory(network)
    }

    /// `library` is ONNX Runtime's.
    pub fn on_cuda(builder: SessionBuilder, library: Option<&Path>) -> Result<SessionBuilder, String> {
        library.and_then(Path::parent).into_iter().for_each(preload_cuda);
        // TF32's three digits are too few for the golden answers' four. Batch sizes vary too much for exhaustive
        // algorithm search.
        let cuda = CUDA::default()
            .with_tf32(false)
            .with_conv_algorithm_search(ConvAlgorithmSearch::Heuristic)
            .build()
            .error_on_failure();
        builder.with_execution_providers([cuda]).map_err(|error| error.to_string())
    }

    /// Loads ONNX Runtime's GPU libraries from its `folder` or from Python's packages; otherwise the system's are used.
    fn preload_cuda(folder: &Path) {
        for [cuda, cudnn] in [["", ""], ["../../nvidia/cu13/lib", "../../nvidia/cudnn/lib"]] {
            match preload_dylibs(Some(&folder.join(cuda)), Some(&folder.join(cudnn))) {
                Ok(()) => return,
                Err(error) => log::debug!("{error}"),
            }
        }
    }

    pub fn run<'s, 'i, 'v: 'i, const N: usize>(
        session: &'s mut Session,
        inputs: impl Into<SessionInputs<'i, 'v, N>>,
    ) -> ort::Result<SessionOutputs<'s>> {
        session.run(inputs)
    }
}

#[cfg(target_family = "wasm")]
mod absent {
    use std::path::Path;

    use ort::environment::Environment;
    use ort::session::builder::SessionBuilder;
    use ort::session::{Session, SessionInputs, SessionOutputs};

    const WHY: &str = "WebAssembly loads no libraries";

    pub fn load(_: &Path) -> Result<Environment, String> {
        Err(WHY.to_owned())
    }

    pub fn commit(_: &mut SessionBuilder, _: &[u8]) -> ort::Result<Session> {
        Err(ort::Error::new(WHY))
    }

    pub fn on_cuda(_: SessionBuilder, _: Option<&Path>) -> Result<SessionBuilder, String> {
        Err(WHY.to_owned())
    }

    pub fn run<'s, 'i, 'v: 'i, const N: usize>(
        _: &'s mut Session,
        _: impl Into<SessionInputs<'i, 'v, N>>,
    ) -> ort::Result<SessionOutputs<'s>> {
        Err(ort::Error::new(WHY))
    }
}
