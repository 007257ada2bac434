//! The house rules, each as a test over the files of the repository.

mod documents;
mod manifests;
mod reports;
mod shape;
mod tree;
mod unsafety;
mod words;

/// Fails with one line for each place where a rule is broken.
#[track_caller]
fn none(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}; broken in:\n  {}", broken.join("\n  "));
}
