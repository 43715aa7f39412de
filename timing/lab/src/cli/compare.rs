//! `timing compare`: what changed from one JSON result to another.

use super::error::CliError;
use super::output;
use crate::compare::compare;
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use warplab_host::input;

/// Arguments of `timing compare`.
#[derive(Args, Debug)]
#[command(after_help = "Example: timing compare old/data.json new/data.json --threshold 2%\n\n\
    Takes what `timing report`, `replay`, `study` and `why` write as JSON. Traces are named by the shortest ends of their \
    paths that tell them apart. The exit code is 0 whether or not something \
    changed; with --exit-code it is 2 if something did.")]
pub(super) struct Arguments {
    /// The earlier result.
    before: PathBuf,
    /// The later one.
    after: PathBuf,
    /// Relative changes up to this threshold count as unchanged: 1% or 0.01.
    #[arg(long, default_value = "1%", value_name = "SHARE", value_parser = threshold)]
    threshold: f64,
    /// Maximum number of rows of each kind, largest changes first.
    #[arg(long, default_value_t = 50, value_name = "N")]
    top: usize,
    /// Ends with exit code 2 if something changed.
    #[arg(long)]
    exit_code: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CliError> {
    let (before, after) = (read(&arguments.before)?, read(&arguments.after)?);
    same_kind(arguments, &before, &after)?;
    let found = compare(&before, &after, arguments.threshold);
    output::print(&found.to_text(arguments.top))?;
    Ok(if arguments.exit_code && !found.is_same() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Refuses two results of different commands, which have no number in common.
fn same_kind(arguments: &Arguments, before: &Value, after: &Value) -> Result<(), CliError> {
    let (earlier, later) = (schema(before), schema(after));
    let kind = |schema: &str| schema.split('/').next().unwrap_or_default().to_owned();
    if earlier == later {
        return Ok(());
    }
    let (a, b) = (arguments.before.display(), arguments.after.display());
    let remedy = match kind(earlier) == kind(later) {
        true => format!("two versions of one form; `timing rerun {a}` says what this version makes of it"),
        false => "results of different commands; compare two of the same command, such as two of `timing replay --json`"
            .to_owned(),
    };
    Err(CliError(format!("{a} is a {earlier} and {b} a {later}: these are {remedy}")))
}

fn schema(value: &Value) -> &str {
    value.get("schema").and_then(Value::as_str).unwrap_or_default()
}

/// Reads a JSON document that this program wrote.
pub(super) fn read(path: &Path) -> Result<Value, CliError> {
    let shown = path.display();
    if let Some(hint) = warplab_host::kinds::elsewhere(path, "json").filter(|_| path.exists()) {
        return Err(CliError(format!("{shown}: a JSON result is expected; {hint}")));
    }
    let text =
        input::read_text(path, input::RESULT_BYTES).map_err(|why| format!("cannot read {shown}: {why}"))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|why| format!("{shown}: a JSON result of `timing` is expected, and this is none: {why}"))?;
    match schema(&value) {
        schema if schema.starts_with("warplab-") => Ok(value),
        _ => Err(format!(
            "{shown}: not a result of `timing`: it has no `schema` that begins with warplab-; `timing replay`, `study`, \
             `why` and others write one with --json, `timing report` as data.json"
        )
        .into()),
    }
}

/// Reads `1%` or `0.01`.
pub(super) fn threshold(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|value| value / scale);
    share
        .filter(|share| share.is_finite() && *share >= 0.0)
        .ok_or_else(|| "expected a share, such as 1% or 0.01".into())
}

#[cfg(test)]
mod tests {
    use super::threshold;

    #[test]
    fn thresholds_are_percentages_or_fractions() {
        assert_eq!(threshold("1%"), Ok(0.01));
        assert_eq!(threshold("0.25"), Ok(0.25));
        assert_eq!(threshold(" 50 %"), Ok(0.5));
        for nonsense in ["", "%", "-1%", "NaN", "inf", "one"] {
            assert!(threshold(nonsense).is_err(), "{nonsense}");
        }
    }
}
