use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::base::progress::{say_regularly, time_left};

pub fn layers_bar(layers: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(layers as u64), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {pos}/{len} layers, {eta} left").expect("a valid template"),
    );
    say_regularly(&bar, |bar| {
        format!("{}/{} layers, {}", bar.position(), bar.length().unwrap_or(0), time_left(bar))
    });
    bar
}
