//! What jobs ask Slurm for.

use serde::Deserialize;
use std::path::Path;
use warplab_host::input;

/// What jobs ask Slurm for, and how they are tracked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The partition; Slurm's default if there is none.
    pub partition: Option<String>,
    /// Most time of a job, as `sbatch --time` takes it.
    pub time: Option<String>,
    /// Memory of a job, as `sbatch --mem` takes it.
    pub memory: Option<String>,
    /// Cores of a job; its runs take turns and use all of them.
    pub cpus: u32,
    /// Runs that one job does, one after the other; by default as many as make at most a thousand jobs.
    #[serde(alias = "tasks_per_job")]
    pub runs_per_job: Option<usize>,
    /// How often a run is submitted again whose job ended without its result.
    pub retries: u32,
    /// Seconds between two looks at the queue.
    pub poll_seconds: u64,
    /// Further options of `sbatch`, such as `--account=lab`.
    pub options: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            partition: None,
            time: None,
            memory: None,
            cpus: 1,
            runs_per_job: None,
            retries: 3,
            poll_seconds: 10,
            options: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads `partition=main,time=1:00:00,memory=4G`, or a TOML file with the same keys.
    ///
    /// ```
    /// let settings = warplab_lab::sweep::slurm::Settings::parse("partition=short,time=2:00:00,runs_per_job=8")?;
    /// assert_eq!((settings.partition.as_deref(), settings.runs_per_job), (Some("short"), Some(8)));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// An unknown key, a value of a wrong kind, or a file that cannot be read.
    pub fn parse(text: &str) -> Result<Settings, String> {
        if text.ends_with(".toml") && !text.contains('=') {
            let read = input::read_text(Path::new(text), input::TEXT_BYTES);
            let file = read.map_err(|why| format!("cannot read {text}: {why}"))?;
            return toml::from_str::<Settings>(&file)
                .map_err(|why| why.message().to_owned())
                .and_then(Settings::checked)
                .map_err(|why| format!("{text}: {why}"));
        }
        let mut table = toml::Table::new();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (key, value) = item.split_once('=').ok_or_else(|| {
                format!("--slurm {text}: `{item}` is not KEY=VALUE, and a file ends in .toml")
            })?;
            let number = value.trim().parse::<i64>().ok().filter(|_| NUMBERS.contains(&key.trim()));
            let value = number.map_or_else(|| value.trim().to_owned().into(), toml::Value::Integer);
            table.insert(key.trim().to_owned(), value);
        }
        Settings::deserialize(table)
            .map_err(|why| why.message().to_owned())
            .and_then(Settings::checked)
            .map_err(|why| format!("--slurm {text}: {why}"))
    }

    fn checked(self) -> Result<Settings, String> {
        let positive = [
            ("cpus", u64::from(self.cpus)),
            ("poll_seconds", self.poll_seconds),
            ("runs_per_job", self.runs_per_job.map_or(1, |count| count as u64)),
        ];
        if let Some((key, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(format!("`{key}` is 1 or more"));
        }
        let texts = [&self.partition, &self.time, &self.memory].into_iter().flatten().chain(&self.options);
        if let Some(text) = texts.into_iter().find(|text| text.chars().any(char::is_control)) {
            return Err(format!("{text:?} has a line break or another control character"));
        }
        Ok(self)
    }
}

/// Keys whose values are numbers.
const NUMBERS: [&str; 5] = ["cpus", "runs_per_job", "tasks_per_job", "retries", "poll_seconds"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_from_words_and_files() -> Result<(), Box<dyn std::error::Error>> {
        assert_eq!(Settings::parse("")?, Settings::default());
        let expected = Settings {
            partition: Some("a".into()),
            time: Some("30".into()),
            memory: Some("4G".into()),
            cpus: 2,
            ..Settings::default()
        };
        assert_eq!(Settings::parse("partition=a, time=30,memory=4G,cpus=2")?, expected);
        let file = tempfile::NamedTempFile::with_suffix(".toml")?;
        std::fs::write(file.path(), "partition = \"a\"\ntime = \"30\"\nmemory = \"4G\"\ncpus = 2\n")?;
        assert_eq!(Settings::parse(file.path().to_str().ok_or("a name")?)?, expected);
        let why = |text: &str| Settings::parse(text).expect_err("refused");
        assert!(why("partitions=a").contains("partitions") && why("a").contains("is not KEY=VALUE"));
        assert!(why("cpus=0").contains("1 or more") && why("none.toml").contains("cannot read none.toml"));
        Ok(())
    }
}
