//! The diagnosis as text of a fixed width.

use super::words::{NO_BREAK, number};
use super::{Diagnosis, Found};

/// Columns.
const WIDTH: usize = 100;
/// Causes with a smaller share of the run are summed.
const SHOWN: f64 = 0.02;

/// Wraps a text: the first line follows `first`, the others are indented to match.
fn fill(first: &str, text: &str) -> String {
    let indent = first.chars().count();
    let mut out = first.to_owned();
    let mut column = indent;
    for (index, word) in text.split(' ').filter(|word| !word.is_empty()).enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > WIDTH {
            out += "\n";
            out += &" ".repeat(indent);
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out.replace(NO_BREAK, " ") + "\n"
}

fn plural(count: usize, one: &str, more: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {more}", number(count as u64)) }
}

/// The diagnosis of one kernel in words.
#[must_use]
pub fn render(diagnosis: &Diagnosis, config: &str) -> String {
    let f = &diagnosis.facts;
    let launches = plural(diagnosis.launches.len(), "launch", "launches");
    let mut text = fill(
        "",
        &format!(
            "{} on {config}: {launches}, {} cycles, {} warp instructions.",
            warplab_host::symbols::signature(&diagnosis.kernel),
            number(f.cycles),
            number(f.warp_instructions)
        ),
    );
    if let Some(launch) = diagnosis.launch_bound() {
        let share = launch.share * 100.0;
        text += &fill(
            "  ",
            &format!("Most of the time, {share:.0}{NO_BREAK}%, is launch latency. {}", launch.finding.why),
        );
        text += &advice(&launch.finding.advice);
    }
    if let Some(main) = diagnosis.main_limit() {
        let apart = if diagnosis.launch_bound().is_some() { "Apart from that, limited" } else { "Limited" };
        let share = main.share_of_run * 100.0;
        let claim = if main.limit.name == "issue" {
            format!("{apart} by {}, in {share:.0}{NO_BREAK}% of the slots.", main.limit.title)
        } else {
            format!("{apart} by {}: {share:.0}{NO_BREAK}% of the scheduler slots.", main.limit.title)
        };
        text += &fill("  ", &format!("{claim} {}", main.finding.why));
        text += &advice(&main.finding.advice);
        if let Some(next) = diagnosis.next_limit() {
            let share = next.share_of_run * 100.0;
            let start = if main.limit.name == "idle" { "Where there are warps" } else { "Next" };
            text += &fill(
                "  ",
                &format!("{start}: {}, {share:.0}{NO_BREAK}%. {}", next.limit.title, next.finding.why),
            );
            text += &advice(&next.finding.advice);
        }
    }
    for note in &diagnosis.notes {
        text += &fill("  ", &note.why);
        text += &advice(&note.advice);
    }
    text + &stack(diagnosis)
}

fn advice(lines: &[String]) -> String {
    lines.iter().map(|line| fill("    → ", line)).collect()
}

/// The scheduler slots after the launch latency by cause, largest first, each with a bar.
fn stack(diagnosis: &Diagnosis) -> String {
    let run: Vec<&Found> = diagnosis.limits.iter().filter(|found| found.limit.name != "launch").collect();
    let width = run.iter().map(|found| found.limit.label.chars().count()).max().unwrap_or(0).max(5);
    let mut text = fill(
        "  ",
        &format!("Scheduler slots of {} cycles after the launch:", number(diagnosis.facts.run_cycles)),
    );
    let mut rest = 0.0;
    let row = |label: &str, share: f64| {
        let bar = "█".repeat((share * 40.0).round() as usize);
        format!("    {label:<width$}  {:5.1} %  {bar}", share * 100.0).trim_end().to_owned() + "\n"
    };
    for found in run {
        if found.share_of_run < SHOWN {
            rest += found.share_of_run;
        } else {
            text += &row(found.limit.label, found.share_of_run);
        }
    }
    if rest > 0.0 {
        text += &row("other", rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_filled_and_no_word_is_lost() {
        let words = "word ".repeat(60);
        let text = fill("    → ", &words);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with("      word")));
        assert_eq!(text.matches("word").count(), 60);
        assert_eq!(fill("  ", "a b"), "  a b\n");
    }

    #[test]
    fn numbers_are_grouped() {
        let of = |n| fill("", &number(n));
        assert_eq!([of(7), of(1234), of(1_234_567)], ["7\n", "1 234\n", "1 234 567\n"]);
    }
}
