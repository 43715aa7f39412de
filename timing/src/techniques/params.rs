//! Reading a technique's own section of the configuration, `[technique.NAME]`: typed, unknown keys refused.

use serde::de::DeserializeOwned;

/// Types a section; what it leaves out has the type's default.
///
/// # Errors
/// The unknown key or the wrong type, with the keys that there are.
pub(super) fn parse<T: DeserializeOwned>(section: &toml::Table) -> Result<T, String> {
    let typed = toml::Value::Table(section.clone()).try_into();
    typed.map_err(|e: toml::de::Error| e.message().trim().replace('\n', " "))
}

/// Refuses a value outside its range.
///
/// # Errors
/// The key, the value and the range.
pub(super) fn within(key: &str, value: u32, low: u32, high: u32) -> Result<(), String> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(format!("`{key}`: {value} is refused: it must lie between {low} and {high}"))
    }
}
