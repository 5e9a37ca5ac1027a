use indicatif::{ProgressBar, ProgressStyle};

/// Shows a bar on stderr over `total` of `unit`, starting at `done` from an earlier run.
pub fn progress(total: u64, done: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let template = format!("{{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{msg}}, {{eta}} left");
    bar.set_style(ProgressStyle::with_template(&template).expect("a valid template"));
    bar.set_position(done);
    bar.reset_eta();
    bar
}
