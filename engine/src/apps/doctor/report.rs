use std::fmt::Write;

use super::Diagnosis;
use crate::nets::catalogue;

pub(super) fn text(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    let _ = write_all(diagnosis, &mut text);
    text
}

fn write_all(diagnosis: &Diagnosis, out: &mut String) -> std::fmt::Result {
    let Diagnosis { machine, onnx_runtime, measured, gui, problems, .. } = diagnosis;
    writeln!(out, "philidor {}", diagnosis.version)?;
    writeln!(out, "{}\n", diagnosis.program)?;
    writeln!(out, "Machine")?;
    writeln!(out, "  system          {}, {}", machine.system, machine.architecture)?;
    writeln!(out, "  processor       {}", machine.processor)?;
    writeln!(out, "  instructions    {}", machine.features.join(" "))?;
    writeln!(
        out,
        "  cores           {}, of {} processors that may be used",
        machine.cores, machine.processors
    )?;
    writeln!(out, "  memory          {} MiB, {} free", machine.memory, machine.free_memory)?;
    if let Some(load) = machine.load {
        writeln!(out, "  load            {load:.2}")?;
    }
    let runtime =
        onnx_runtime.library.as_deref().unwrap_or("not there (the embedded network does not need it)");
    writeln!(out, "  ONNX Runtime    {runtime}")?;
    let gpus = if machine.gpus.is_empty() { "none found".to_owned() } else { machine.gpus.join(", ") };
    writeln!(out, "  GPU             {gpus}; used with Backend onnx-cuda only")?;

    writeln!(out, "\nSpeed, new positions a second in a search with one worker")?;
    let best = measured.networks.first().map_or(1.0, |network| network.rate);
    for network in &measured.networks {
        let factor = match best / network.rate.max(1e-9) {
            1.0 => "fastest".to_owned(),
            factor => format!("1/{factor:.1}"),
        };
        writeln!(
            out,
            "  {:<20} {:<9} {:<24} {:>9.0}  {factor}",
            network.file, network.precision, network.by, network.rate
        )?;
    }
    for (name, precision) in &measured.precisions {
        writeln!(out, "  Precision auto takes {name} in {precision} here.")?;
    }
    let workers: Vec<String> = measured.workers.iter().map(|(n, rate)| format!("{n}: {rate:.0}")).collect();
    writeln!(out, "  {} by workers: {}", catalogue::EMBEDDED_FILE, workers.join(", "))?;
    writeln!(
        out,
        "  Fast is not strong: `philidor net list` has the strengths; the embedded network is the strongest."
    )?;

    writeln!(out, "\nIn a GUI or a bot")?;
    writeln!(out, "  command         {}", gui.command)?;
    writeln!(out, "  protocol        UCI")?;
    writeln!(out, "  Threads         {}", gui.threads)?;
    writeln!(out, "  Hash            {}", gui.hash)?;
    let online = gui.move_overhead_online;
    writeln!(out, "  Move Overhead   {}; online {online}", gui.move_overhead)?;
    writeln!(out, "  WeightsFile     {}", gui.weights)?;

    writeln!(out, "\nProblems")?;
    if problems.is_empty() {
        writeln!(out, "  none")?;
    }
    for problem in problems {
        writeln!(out, "  - {}\n    {}", problem.what, problem.mend)?;
    }
    if let Some(request) = request(std::env::consts::OS) {
        writeln!(out, "\nPlease report\n{request}")?;
    }
    if let Some(file) = &diagnosis.written {
        writeln!(out, "\nWritten: {file}")?;
    }
    Ok(())
}

/// What users of a system are asked to report on which this program has not been run.
fn request(system: &str) -> Option<&'static str> {
    (system == "macos").then_some(
        "  Its authors have not run this program on macOS. Please send the project all of this text, even if nothing is\n  \
         wrong, and the last two lines of `philidor bench`; all but the speed should be the same on every machine.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_users_of_untried_systems_are_asked_to_report() {
        assert!(request("macos").is_some_and(|text| text.contains("philidor bench")));
        assert_eq!((request("linux"), request("windows")), (None, None));
    }
}
