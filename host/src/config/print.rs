//! The effective configuration as TOML, each line with its origin, secrets masked.

use std::fmt::{self, Write as _};

use super::RunConfig;
use super::client::is_secret;
use super::guard::TABLE;
use super::origin::Origin;
use super::settings::SETTINGS;

const MASK: &str = "********";

/// Displays as a file that `--config` takes (masked secrets aside).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effective<'a>(pub(crate) &'a RunConfig);

impl fmt::Display for Effective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.0;
        for setting in SETTINGS {
            if let Some(value) = config.shown(setting.name) {
                line(f, setting.name, &value, &config.origin(setting.name))?;
            }
        }
        f.write_str("\n[guard]\n")?;
        for row in TABLE {
            let origin = config.origin(&format!("guard.{}", row.name));
            line(f, row.name, &row.show(&config.guard), &origin)?;
        }
        if !config.client.0.is_empty() {
            f.write_str("\n[client]\n")?;
        }
        for (name, given) in &config.client.0 {
            let value = if is_secret(name) { MASK } else { &given.text };
            line(f, &quoted(name), &quoted(value), &given.origin)?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: &str, origin: &Origin) -> fmt::Result {
    match origin {
        Origin::Default => writeln!(f, "{name} = {value}"),
        origin => writeln!(f, "{name} = {value} # {origin}"),
    }
}

/// A TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A URL whose user part, if any, is masked.
pub(crate) fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    match authority.rsplit_once('@') {
        Some((user, _)) => format!("{scheme}://{MASK}{}", &rest[user.len()..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_part_of_a_url_is_masked() {
        assert_eq!(without_user("http://u:p@h:1/x@y"), "http://********@h:1/x@y");
        assert_eq!(without_user("http://h:1/x@y"), "http://h:1/x@y");
    }

    #[test]
    fn texts_are_quoted_as_toml() {
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000A\"");
    }
}
