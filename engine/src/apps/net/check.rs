use std::io::Write;
use std::path::Path;

use crate::nets::card_file::FileCard;
use crate::nets::onnx::{Network, OnnxSparseEvaluator, runtime_library};
use crate::nets::sparse::{SparseFile, TOLERANCE};

/// Checks the golden answers with every usable runtime and writes a line for each. Fails at a wrong answer or without a
/// runtime.
pub(super) fn check(
    bytes: &[u8],
    card: &FileCard,
    path: Option<&Path>,
    out: &mut impl Write,
) -> Result<(), String> {
    let mut say = |line: String| writeln!(out, "{line}").map_err(|error| error.to_string());
    let golden = card.golden;
    let runtime = runtime_library().map(|path| path.display().to_string());
    if let Some(file) = SparseFile::recognise(bytes) {
        let network = file.network().map_err(|error| error.to_string())?;
        for mut evaluator in network.evaluators() {
            let instructions = evaluator.instructions();
            file.check(&mut evaluator).map_err(|error| format!("with {instructions}: {error}"))?;
            say(format!("  our kernels, {instructions}: {golden} golden answers within {TOLERANCE}"))?;
        }
        return match runtime {
            Ok(library) => {
                OnnxSparseEvaluator::open(bytes, golden.max(1)).map_err(|error| error.to_string())?;
                say(format!("  ONNX Runtime, {library}: {golden} golden answers within {TOLERANCE}"))
            }
            Err(_) => say("  ONNX Runtime: not there; this network does not need it".to_owned()),
        };
    }
    let path = path.ok_or("the embedded network is not of the family sparse")?;
    let library = runtime.map_err(|error| error.to_string())?;
    let network = Network::load(path).map_err(|error| error.to_string())?;
    let tolerance = network.card().tolerance();
    say(format!("  ONNX Runtime, {library}: {golden} golden answers within {tolerance}"))
}
