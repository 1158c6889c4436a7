//! The startup parameter `options`: settings in the form of a command line, as in
//! `-c statement_timeout=5s --search-path=loom`.

use types::{Result, SqlError, SqlState};

/// Parses the settings, in their order, with their values.
///
/// # Errors
/// Fails if `options` holds anything but settings.
pub(super) fn parse(options: &str) -> Result<Vec<(String, String)>> {
    let mut settings = Vec::new();
    let mut words = split(options).into_iter();
    while let Some(word) = words.next() {
        let (flag, setting) = if let Some(setting) = word.strip_prefix("--") {
            ("--", setting.to_owned())
        } else if let Some(setting) = word.strip_prefix("-c") {
            let setting = match setting {
                "" => words.next().ok_or_else(|| invalid(&word))?,
                setting => setting.to_owned(),
            };
            ("-c ", setting)
        } else {
            return Err(invalid(&word));
        };
        let (name, value) = setting.split_once('=').ok_or_else(|| {
            SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!("{flag}{setting} requires a value"),
            )
        })?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

fn invalid(word: &str) -> SqlError {
    SqlError::new(
        SqlState::SYNTAX_ERROR,
        format!("invalid command-line argument for server process: {word}"),
    )
}

/// Splits `options` at blanks; a backslash escapes the next character.
fn split(options: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        match character {
            blank if blank.is_ascii_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(characters.next()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(options: &str) -> String {
        match parse(options) {
            Ok(settings) => settings
                .iter()
                .map(|(name, value)| format!("{name}={value};"))
                .collect(),
            Err(error) => error.message().to_owned(),
        }
    }

    /// Expected values from PostgreSQL 15.
    #[test]
    fn settings_are_taken_out_of_a_command_line() {
        for (options, settings) in [
            ("", ""),
            ("  ", ""),
            ("-c a=b", "a=b;"),
            ("-ca=b  -c  c=d", "a=b;c=d;"),
            ("--search-path=a-b", "search_path=a-b;"),
            ("-c a=b\\ c\\\\", "a=b c\\;"),
            ("-c a=b=c", "a=b=c;"),
            ("-c a=", "a=;"),
            ("-c", "invalid command-line argument for server process: -c"),
            ("-c a", "-c a requires a value"),
            ("--a", "--a requires a value"),
            (
                "a=b",
                "invalid command-line argument for server process: a=b",
            ),
        ] {
            assert_eq!(parsed(options), settings, "{options}");
        }
    }
}
