use anyhow::{Result, bail};

use crate::base::files::make_folder_of;
use crate::base::progress::grouped;
use crate::cli::export::ExportArgs;
use crate::judge::export::{network, onnx, unrolled, write_network};
use crate::learn::torch::{Checkpoint, checkpoint};

pub fn export(args: &ExportArgs) -> Result<()> {
    let given = [
        (args.policy.is_some(), "--policy"),
        (args.mean_with.is_some(), "--mean-with"),
        (args.value_scale.is_some(), "--value-scale"),
    ];
    if let Some((_, option)) = given.into_iter().find(|(is_given, _)| *is_given) {
        bail!("{option} is for networks of the family sparse");
    }
    let loaded = Checkpoint::load(&args.checkpoint)?;
    let (net, weights) = network(&loaded, args.averaged, args.unroll)?;
    let network = write_network(&args.out, args.name.as_deref(), |name| {
        let write = if args.unroll.is_some() { unrolled } else { onnx };
        Ok(write(name, &net, &weights, &loaded.config))
    })?;
    if let Some(path) = &args.weights {
        make_folder_of(path)?;
        checkpoint::save_weights(path, &weights, &loaded.config, &loaded.progress)?;
    }
    say!("{}, {}", network.describe(), grouped(loaded.progress.samples, "sample"));
    Ok(())
}
