use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args};

use super::{sparse, torch};
use crate::base::files::{check_output, file_name, make_folder_of};
use crate::learn::sparse::SparseCheckpoint;

/// Export a checkpoint as a network that the engine plays (ONNX)
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: philidor-trainer export --checkpoint \
    runs/first/checkpoints/best.safetensors --out nets/mine.onnx")]
pub struct ExportArgs {
    /// The checkpoint
    #[arg(long)]
    pub(super) checkpoint: PathBuf,
    /// The network file to write
    #[arg(long)]
    pub(super) out: PathBuf,
    /// Name of the network [default: the file name without extension]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(super) name: Option<String>,
    /// Export the averaged weights (EMA), if the checkpoint has them
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    pub(super) averaged: bool,
    /// Unroll this many steps of a recursive network into one graph, which the engine runs like any other network
    /// [default: one step, which the engine repeats according to its option `ThinkSteps`]
    #[arg(long, value_name = "STEPS")]
    pub(super) unroll: Option<usize>,
    /// Take the policy from another network of the family sparse (network file or checkpoint), and only the value from
    /// --checkpoint
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Option<PathBuf>,
    /// Average the weights with those of another network of the family sparse and of the same shape (network file or
    /// checkpoint), which get this share: `FILE=0.3` keeps seven tenths of --checkpoint
    #[arg(long, value_name = "FILE=SHARE", value_parser = file_and_share)]
    pub(super) mean_with: Option<(PathBuf, f32)>,
    /// Multiply the value's last layer (family sparse): below 1 flattens win, draw and loss, above 1 sharpens them
    #[arg(long, value_name = "FACTOR", value_parser = scale)]
    pub(super) value_scale: Option<f32>,
    /// Also write the exported weights to this file, as a small checkpoint for `train --init`
    #[arg(long)]
    pub(super) weights: Option<PathBuf>,
}

fn file_and_share(text: &str) -> Result<(PathBuf, f32), String> {
    let parts = text.rsplit_once('=').filter(|(file, _)| !file.is_empty());
    let (file, share) = parts.ok_or("write FILE=SHARE, for example other.int8.onnx=0.3")?;
    let share = share.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    Ok((file.into(), share.ok_or("the share must be a number from 0 to 1")?))
}

fn scale(text: &str) -> Result<f32, String> {
    let factor = text.parse().ok().filter(|factor| (0.1..=10.0).contains(factor));
    factor.ok_or_else(|| "a factor from 0.1 to 10".to_owned())
}

/// The file that a path names, existing or not: links and different spellings of a folder agree.
fn place(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    path.canonicalize().ok().or_else(|| Some(folder.canonicalize().ok()?.join(path.file_name()?)))
}

impl ExportArgs {
    /// The file is loaded as by the engine, which checks card, shapes and golden outputs.
    pub fn run(&self) -> Result<()> {
        let mean_with = self.mean_with.as_ref().map(|(file, _)| file);
        let read = [&self.checkpoint].into_iter().chain(&self.policy).chain(mean_with);
        // The family sparse also writes a file of integers.
        let integers = self.out.with_extension("int8.onnx");
        for out in [&self.out, &integers].into_iter().chain(&self.weights) {
            make_folder_of(out)?;
            check_output(out, read.clone())?;
        }
        let name = file_name(&self.out);
        let plain = name.strip_suffix(".onnx");
        let shown = self.out.display();
        ensure!(
            plain.is_some_and(|plain| !plain.is_empty()),
            "--out {shown}: name a file that ends in .onnx"
        );
        ensure!(
            plain.is_none_or(|plain| !plain.ends_with(".int8")),
            "--out {shown}: name the fp32 file, which does not end in .int8.onnx; that in 8 bits is made beside it"
        );
        for out in [&self.out, &integers] {
            let is_replaced = self.weights.as_ref().is_some_and(|weights| place(weights) == place(out));
            ensure!(!is_replaced, "--weights would replace {}: name another file", out.display());
        }
        if SparseCheckpoint::recognises(&self.checkpoint) {
            sparse::export(self)
        } else {
            torch::export(self)
        }
    }
}
