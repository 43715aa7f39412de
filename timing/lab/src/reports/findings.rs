//! Section: what the numbers say, in words; every sentence is made from counts of the replays and studies on the page.

use super::measure::{Lab, Workload};
use super::techniques::tone;
use super::words::{listed, ratio};
use crate::stats::{Stall, Stats};
use crate::studies::StudyResult;
use crate::why::{Diagnosis, diagnose, slots_by_limit};
use report::{Format, Kpi, Section, geometric_mean};
use warplab_host::symbols::Shortened;

/// Kernels that the section explains: those with most cycles.
const MOST_KERNELS: usize = 6;
/// Opportunities that the section names: the largest.
const MOST_OPPORTUNITIES: usize = 3;
/// A change of the speed or of slots below this share is none.
const NO_CHANGE: f64 = 0.005;

pub(super) fn section(lab: &Lab, workloads: &[Workload], studies: &[StudyResult]) -> Section {
    let section = Section::new("Findings").id("findings");
    if workloads.is_empty() {
        return section.text("No trace was replayed.");
    }
    let mut section = section.kpis(figures(lab, workloads, studies));
    section = section.heading("What limits the kernels").list(kernels(lab, workloads));
    if lab.variants.len() > 1 {
        let all = (1..lab.variants.len()).map(|variant| technique(lab, workloads, variant));
        section = section.heading("What the techniques change").list(all);
    }
    let found = opportunities(studies);
    if !found.is_empty() {
        section = section.heading("Where the limit studies find more").list(found);
    }
    section
}

/// The statistics of a variant, over all traces.
fn sum(workloads: &[Workload], variant: usize) -> Stats {
    let mut sum = Stats::default();
    workloads.iter().for_each(|workload| sum.merge(workload.on(variant)));
    sum
}

/// Slots of schedulers with a warp, which the causes of a stall are shares of.
fn busy(stats: &Stats) -> u64 {
    stats.stalls.total() - stats.stalls.get(Stall::NoWarp) - stats.stalls.get(Stall::Launch)
}

/// Slots by what they were spent on, without those that had no work; the largest number first.
fn spent(stats: &Stats) -> Vec<(&'static str, u64)> {
    let mut stalls = stats.stalls.clone();
    for cause in [Stall::NoWarp, Stall::Launch] {
        stalls.remove(cause, stalls.get(cause));
    }
    slots_by_limit(&stalls.to_json())
}

/// The label of the slots in which an instruction issued.
const ISSUING: &str = "issuing";

fn figures(lab: &Lab, workloads: &[Workload], studies: &[StudyResult]) -> Vec<Kpi> {
    let plain = sum(workloads, 0);
    let c = &plain.counters;
    let scheduler = &lab.config.scheduler;
    let most = lab.config.gpu.sms * scheduler.count * scheduler.issue_width;
    let mut figures = vec![
        Kpi::number(
            "Warp instructions per cycle",
            ratio(c.warp_instructions, c.kernel_cycles),
            Format::Float(2),
        )
        .note(format!("baseline, without launch latency; the GPU can issue {most}")),
        Kpi::number(
            "Issue slots used",
            ratio(plain.stalls.get(Stall::Issued), busy(&plain)),
            Format::Percent(1),
        )
        .note("of schedulers with a warp, baseline"),
    ];
    if let Some((label, slots)) = spent(&plain).into_iter().find(|(label, _)| *label != ISSUING) {
        let share = ratio(slots, busy(&plain));
        figures.push(Kpi::number("Largest loss", share, Format::Percent(1)).note(label));
    }
    let mean = |variant: usize| geometric_mean(workloads.iter().map(|workload| workload.speedup(variant)));
    let best = (1..lab.variants.len()).max_by(|a, b| mean(*a).total_cmp(&mean(*b)));
    if let Some(best) = best.filter(|best| mean(*best).is_finite()) {
        let note = if lab.variants.len() == 2 { "" } else { ", the fastest variant" };
        let kpi = Kpi::number("Speedup", mean(best), Format::Ratio(3)).tone(tone(mean(best) - 1.0));
        figures.push(kpi.note(format!("{}{note}, geometric mean", lab.variants[best].label)));
    }
    if let Some(largest) = ordered(studies).first()
        && let Some(headline) = &largest.headline
    {
        let kpi = Kpi::number("Largest opportunity", headline.mean, Format::Percent(1));
        figures.push(kpi.note(headline.phrase));
    }
    figures
}

/// What limits each kernel of the baseline, those with most cycles first.
fn kernels(lab: &Lab, workloads: &[Workload]) -> Vec<String> {
    let of = |workload: &Workload| -> Vec<(String, Diagnosis)> {
        let all = diagnose(&workload.replays[0], &lab.config).into_iter();
        all.map(|diagnosis| (workload.label.clone(), diagnosis)).collect()
    };
    let mut all: Vec<(String, Diagnosis)> = workloads.iter().flat_map(of).collect();
    all.sort_by_key(|(_, diagnosis)| std::cmp::Reverse(diagnosis.facts.cycles));
    let names = Shortened::of(all.iter().map(|(_, diagnosis)| diagnosis.kernel.as_str()));
    let cycles: u64 = all.iter().map(|(_, diagnosis)| diagnosis.facts.cycles).sum();
    let mut lines: Vec<String> = Vec::new();
    for (label, diagnosis) in all.iter().take(MOST_KERNELS) {
        let name = names.get(&diagnosis.kernel);
        let of = if workloads.len() == 1 || name == label.as_str() {
            String::new()
        } else {
            format!(" of {label}")
        };
        let share = if all.len() == 1 {
            String::new()
        } else {
            format!(", {} of all cycles", Format::Percent(0).show(ratio(diagnosis.facts.cycles, cycles)))
        };
        lines.push(format!("**{name}**{of}{share}: {}", limit(diagnosis)));
    }
    if all.len() > MOST_KERNELS {
        let rest = all.len() - MOST_KERNELS;
        lines.push(format!("{rest} more kernels with fewer cycles: `timing why` explains each."));
    }
    lines
}

/// The limits of a kernel, with their figures.
fn limit(diagnosis: &Diagnosis) -> String {
    let percent = |share: f64| Format::Percent(0).show(share);
    let mut text = String::new();
    if let Some(launch) = diagnosis.launch_bound() {
        text += &format!("{} of its time is launch latency. ", percent(launch.share));
    }
    let Some(main) = diagnosis.main_limit() else { return text + "no scheduler slot was counted." };
    let after = if text.is_empty() { "limited by" } else { "After that, it is limited by" };
    text += &format!(
        "{after} {}, {} of the issue slots after the launch. {}",
        main.limit.title,
        percent(main.share_of_run),
        main.finding.why
    );
    if let Some(next) = diagnosis.next_limit() {
        text += &format!(" Next: {}, {}.", next.limit.title, percent(next.share_of_run));
    }
    text
}

/// How the slots of a variant differ from the baseline's: the label with the largest change in the direction of the
/// speed, and the change in parts of the baseline's slots.
fn cause(workloads: &[Workload], variant: usize, faster: bool) -> Option<(&'static str, f64)> {
    let (before, after) = (sum(workloads, 0), sum(workloads, variant));
    let all = busy(&before);
    let (before, after) = (spent(&before), spent(&after));
    let slots = |of: &[(&'static str, u64)], label: &str| {
        of.iter().find(|(one, _)| *one == label).map_or(0, |(_, slots)| *slots)
    };
    let labels = before.iter().chain(&after).map(|(label, _)| *label);
    let change = |label: &'static str| {
        let difference = slots(&after, label) as f64 - slots(&before, label) as f64;
        (label, difference / all.max(1) as f64)
    };
    let largest = labels.map(change).max_by(|(_, a), (_, b)| {
        let towards = |change: f64| if faster { -change } else { change };
        towards(*a).total_cmp(&towards(*b))
    });
    largest.filter(|(_, change)| change.abs() >= NO_CHANGE && (*change < 0.0) == faster)
}

/// What a variant gains or loses, and by which slots.
fn technique(lab: &Lab, workloads: &[Workload], variant: usize) -> String {
    let label = &lab.variants[variant].label;
    let mean = geometric_mean(workloads.iter().map(|workload| workload.speedup(variant)));
    let energy = geometric_mean(workloads.iter().map(|workload| workload.rf_energy(lab, variant)));
    let gain = mean - 1.0;
    let percent = |share: f64| Format::Percent(1).show(share.abs());
    let mut text = match gain {
        gain if gain > NO_CHANGE => format!("**{label}** is {} faster than the baseline", percent(gain)),
        gain if gain < -NO_CHANGE => format!("**{label}** is {} slower than the baseline", percent(gain)),
        _ => format!("**{label}** is as fast as the baseline, within {}", percent(NO_CHANGE)),
    };
    if workloads.len() > 1 {
        let speed = |one: &&Workload| one.speedup(variant);
        let by = |a: &&Workload, b: &&Workload| speed(a).total_cmp(&speed(b));
        if let Some((least, most)) = workloads.iter().min_by(by).zip(workloads.iter().max_by(by)) {
            let show = |workload: &Workload| {
                format!("{} on {}", Format::Ratio(3).label(workload.speedup(variant)), workload.label)
            };
            text += &format!(" (geometric mean; from {} to {})", show(least), show(most));
        }
    }
    match cause(workloads, variant, gain > 0.0) {
        Some((label, change)) if gain.abs() > NO_CHANGE => {
            let (more, direction) = if change > 0.0 { ("more", "added") } else { ("fewer", "saved") };
            let percent = percent(change);
            text += &format!(
                ", mainly through {more} slots “{label}”: {percent} of the baseline's slots {direction}"
            );
        }
        _ => {}
    }
    text +=
        &format!(". Its register file takes {} of the baseline's energy", Format::Percent(0).show(energy));
    let after = sum(workloads, variant);
    let held = ratio(after.stalls.get(Stall::Technique), busy(&after));
    if held >= NO_CHANGE {
        text += &format!("; it stalls the chosen warp in {} of the slots", percent(held));
    }
    text + "."
}

/// The studies with a headline, the largest number first.
fn ordered(studies: &[StudyResult]) -> Vec<&StudyResult> {
    let number = |study: &StudyResult| study.headline.as_ref().map_or(f64::NEG_INFINITY, |one| one.mean);
    let mut all: Vec<&StudyResult> = studies.iter().filter(|study| study.headline.is_some()).collect();
    all.sort_by(|a, b| number(b).total_cmp(&number(a)));
    all
}

fn opportunities(studies: &[StudyResult]) -> Vec<String> {
    let all = ordered(studies);
    let mut lines: Vec<String> = Vec::new();
    for study in all.iter().take(MOST_OPPORTUNITIES) {
        let Some(headline) = &study.headline else { continue };
        let percent = |share: f64| Format::Percent(1).show(share);
        let mut text = format!("**{}** {}", percent(headline.mean), headline.phrase);
        let by = |a: &&(String, f64), b: &&(String, f64)| a.1.total_cmp(&b.1);
        let known = || headline.traces.iter().filter(|(_, share)| share.is_finite());
        if let Some((least, most)) =
            known().min_by(by).zip(known().max_by(by)).filter(|_| known().count() > 1)
        {
            let show = |(trace, share): &(String, f64)| format!("{} on {trace}", percent(*share));
            text += &format!(" (mean over traces; from {} to {})", show(least), show(most));
        }
        lines.push(format!("{text}: study `{}`, {}.", study.study, paper(study.paper)));
    }
    let rest: Vec<&str> = all.iter().skip(MOST_OPPORTUNITIES).map(|study| study.study).collect();
    if !rest.is_empty() {
        lines.push(format!("The smaller numbers of {} are in the section on limit studies.", listed(&rest)));
    }
    lines
}

/// Where a study is from, after the comma of a sentence.
fn paper(paper: &str) -> String {
    if paper.starts_with("none") { "not from a paper".into() } else { format!("after {paper}") }
}
