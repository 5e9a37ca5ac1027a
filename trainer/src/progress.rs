//! Progress bars on stderr.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Progress on stderr over `total` of `unit`, of which some were done before.
pub fn progress(total: u64, done: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let template = format!("{{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{msg}}, {{eta}} left");
    bar.set_style(ProgressStyle::with_template(&template).expect("a fixed template"));
    bar.set_position(done);
    bar.reset_eta();
    bar
}

/// Progress of a trial of `steps` steps, on stderr.
pub fn steps_bar(steps: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
    let style = "{bar:24} {pos}/{len} steps, {per_sec}, {eta} left · {msg}";
    bar.with_style(ProgressStyle::with_template(style).expect("a valid template"))
}
