use std::fmt::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::base::progress::{rate_of, say_regularly, time_left};

const LAYERS: [&str; 2] = ["layer", "layers"];

pub fn layers_bar(layers: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(layers as u64), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {pos}/{len} layers, {rate}, {eta} left")
            .expect("a valid template")
            .with_key("rate", |state: &ProgressState, text: &mut dyn Write| {
                _ = write!(text, "{}", rate_of(state.pos(), state.elapsed(), LAYERS));
            }),
    );
    say_regularly(&bar, |bar| {
        let rate = rate_of(bar.position(), bar.elapsed(), LAYERS);
        format!("{}/{} layers, {rate}, {}", bar.position(), bar.length().unwrap_or(0), time_left(bar))
    });
    bar
}
