use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub fn layers_bar(layers: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(layers as u64), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {pos}/{len} layers, {eta} left").expect("a valid template"),
    );
    bar
}
