//! How the points of a sweep are laid out in a chart: one key along the axis, a series for all that is equal otherwise.

use super::plan::Plan;
use super::table::is_foreign;
use crate::named::label;

/// Points by series and position.
pub(super) struct Layout {
    /// The key along the axis; none if nothing varies.
    pub key: Option<String>,
    /// Its values in order, or else one position.
    pub values: Vec<String>,
    /// The values as numbers, if all are numbers.
    pub numbers: Option<Vec<f64>>,
    /// Name and point at each position.
    pub series: Vec<(String, Vec<Option<usize>>)>,
}

impl Layout {
    /// The layout without the baselines, beside which they are 1.
    pub(super) fn without_baselines(&self, plan: &Plan) -> Layout {
        let has_own = |points: &[Option<usize>]| {
            points.iter().flatten().any(|point| !plan.points[*point].machine.tech.is_empty())
        };
        let series = self.series.iter().filter(|(_, points)| has_own(points)).cloned().collect();
        Layout { key: self.key.clone(), values: self.values.clone(), numbers: self.numbers.clone(), series }
    }

    /// The layout by the varied key with most values.
    pub(super) fn of(plan: &Plan) -> Layout {
        let distinct = |key: &String| {
            let mut values: Vec<String> = Vec::new();
            for value in plan.points.iter().filter_map(|point| point.values.get(key)) {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            values
        };
        let mut keys: Vec<(&String, Vec<String>)> = plan
            .varied
            .iter()
            .map(|key| (key, distinct(key)))
            .filter(|(_, values)| values.len() > 1)
            .collect();
        // The first of those with most values.
        keys.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
        let Some((key, mut values)) = keys.into_iter().next() else {
            let series =
                plan.points.iter().enumerate().map(|(at, point)| (point.label.clone(), vec![Some(at)]));
            return Layout {
                key: None,
                values: vec![String::new()],
                numbers: None,
                series: series.collect(),
            };
        };
        let number = |value: &String| value.parse::<f64>().ok().filter(|number| number.is_finite());
        let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
        let numbers = numbers.map(|mut numbers| {
            values.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
            numbers.sort_by(f64::total_cmp);
            numbers
        });
        let mut series: Vec<(String, Vec<Option<usize>>)> = Vec::new();
        for (at, point) in plan.points.iter().enumerate() {
            let name = name_without(plan, at, key);
            let place = series.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
                series.push((name, vec![None; values.len()]));
                series.len() - 1
            });
            match point.values.get(key) {
                // A baseline on which the key has no effect is the same everywhere.
                None if is_foreign(key, &point.machine.tech) => series[place].1.fill(Some(at)),
                None => {}
                Some(value) => {
                    let column = values.iter().position(|other| other == value);
                    column.into_iter().for_each(|column| series[place].1[column] = Some(at));
                }
            }
        }
        Layout { key: Some(key.clone()), values, numbers, series }
    }
}

/// What a point is called beside those that differ from it in one key.
fn name_without(plan: &Plan, point: usize, key: &str) -> String {
    let point = &plan.points[point];
    let several = plan.points.iter().any(|other| other.machine.name != point.machine.name);
    let varied = plan.varied.iter().filter(|other| *other != key);
    let set: Vec<String> =
        varied.filter_map(|other| Some(format!("{other}={}", point.values.get(other)?))).collect();
    let name = label(several.then_some(point.machine.name.as_str()), &point.machine.tech, &set);
    if point.machine.tech.is_empty() { format!("baseline {name}").trim_end().to_owned() } else { name }
}
