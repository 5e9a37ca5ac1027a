//! Tells the program which commit it was built from, and which network it embeds.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=EVALFILE");
    let network = match std::env::var("EVALFILE") {
        Ok(file) if !file.is_empty() => match std::fs::canonicalize(&file) {
            Ok(path) => path.display().to_string(),
            Err(error) => panic!("EVALFILE is {file}: {error}"),
        },
        // From the source file that includes it, so that the program does not depend on where it was built.
        _ => "../../../../nets/philidor.int8.onnx".to_owned(),
    };
    println!("cargo::rustc-env=EMBEDDED_NETWORK={network}");
    // A given commit wins: packages are built from sources without git.
    println!("cargo::rerun-if-env-changed=PHILIDOR_COMMIT");
    println!("cargo::rerun-if-changed=src");
    if let Ok(commit) = std::env::var("PHILIDOR_COMMIT") {
        println!("cargo::rustc-env=PHILIDOR_COMMIT={commit}");
        return;
    }
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=PHILIDOR_COMMIT={commit}");
    // HEAD says which branch, the log of HEAD changes with every commit; without git there is
    // nothing to watch.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// What git prints, or `None` without git or outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
