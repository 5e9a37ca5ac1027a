use anyhow::{Result, ensure};
use engine::base::words::counted;
use engine::nets::eval::ValueScheme;
use engine::nets::onnx::Network;

use crate::cli::verify::VerifyArgs;
use crate::judge::export::{OutputDifference, TOLERANCE, compare, network};
use crate::learn::torch::Checkpoint;

pub fn verify(args: &VerifyArgs) -> Result<()> {
    let checkpoint = Checkpoint::load(&args.checkpoint)?;
    let (net, weights) = network(&checkpoint, args.averaged, args.steps)?;
    let file = Network::load(&args.net)?;
    let positions = args.positions()?;
    let difference = compare(&net, &weights, &file, &positions)?;
    let OutputDifference { policy_logit, policy, wdl_logit, wdl } = difference;
    let wdl = match file.schemes().value {
        ValueScheme::Wdl => format!("; WDL logit {wdl_logit:.1e}, probability {wdl:.1e}"),
        ValueScheme::None => String::new(),
    };
    say!(
        "{}, largest differences: policy logit {policy_logit:.1e}, probability {policy:.1e}{wdl}",
        counted(positions.len(), "position")
    );
    // `<=`, so that NaN fails too.
    ensure!(
        difference.worst() <= TOLERANCE,
        "the network file differs from the checkpoint by more than {TOLERANCE:.0e}"
    );
    Ok(())
}
