//! The jars, by Maven, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// The version that the tests were written against.
const VERSION: &str = "4.3.1";

/// Fetches into `folder` unless the jars are there; returns the folder of the jars.
pub(super) fn run(folder: &Path) -> Result<PathBuf> {
    need_java()?;
    let home = folder.join(VERSION);
    let library = home.join("lib");
    if missing(&library).is_none() {
        return Ok(library);
    }
    if shell::on_path("mvn").is_none() {
        bail!("Maven, which fetches Kafka, is missing (Debian: apt-get install maven)");
    }
    println!("fetching Apache Kafka {VERSION} with Maven (about 50 MB)");
    fetch(&home, &library)?;
    if let Some(jar) = missing(&library) {
        bail!("Maven ended well and left no {jar} in {}", library.display());
    }
    Ok(library)
}

/// The broker's jar or the tools', when it is not there.
fn missing(library: &Path) -> Option<String> {
    let jars = [format!("kafka_2.13-{VERSION}.jar"), format!("kafka-tools-{VERSION}.jar")];
    jars.into_iter().find(|jar| !library.join(jar).is_file())
}

fn need_java() -> Result<()> {
    if shell::on_path("java").is_none() {
        bail!(
            "Java 17 or newer, which runs Kafka, is missing (Debian: apt-get install \
               default-jre-headless)"
        );
    }
    Ok(())
}

/// Copies into a folder of its own first: a fetch that was cut short never looks complete.
fn fetch(home: &Path, library: &Path) -> Result<()> {
    let partial = home.join("lib.partial");
    let pom = home.join("pom.xml");
    fs::create_dir_all(home).with_context(|| format!("no folder {}", home.display()))?;
    fs::write(&pom, project()).with_context(|| format!("{} cannot be written", pom.display()))?;
    for folder in [partial.as_path(), library] {
        if folder.exists() {
            fs::remove_dir_all(folder)
                .with_context(|| format!("{} cannot be emptied", folder.display()))?;
        }
    }
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--quiet", "--file"]).arg(&pom).arg("dependency:copy-dependencies");
    maven.arg(format!("-DoutputDirectory={}", partial.display()));
    shell::run(&mut maven).context("Kafka could not be fetched from Maven Central")?;
    fs::rename(&partial, library).with_context(|| format!("{} not made", library.display()))
}

fn project() -> String {
    let dependencies = dependency("org.apache.kafka", "kafka_2.13", VERSION)
        + &dependency("org.apache.kafka", "kafka-tools", VERSION)
        + &dependency("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3");
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n  \
         <modelVersion>4.0.0</modelVersion>\n  <groupId>rebalance-guard</groupId>\n  \
         <artifactId>kafka-for-tests</artifactId>\n  <version>1</version>\n  \
         <packaging>pom</packaging>\n  <dependencies>\n{dependencies}  </dependencies>\n\
         </project>\n"
    )
}

fn dependency(group: &str, artifact: &str, version: &str) -> String {
    format!(
        "    <dependency>\n      <groupId>{group}</groupId>\n      \
         <artifactId>{artifact}</artifactId>\n      <version>{version}</version>\n    \
         </dependency>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::project;

    #[test]
    fn the_project_names_kafka_its_tools_and_a_logger() {
        let project = project();
        assert!(project.contains("<artifactId>kafka_2.13</artifactId>"));
        assert!(project.contains("<version>4.3.1</version>"));
        assert!(project.contains("<artifactId>log4j-slf4j-impl</artifactId>"));
        assert!(project.contains("<artifactId>kafka-tools</artifactId>"));
        assert_eq!(project.matches("<dependency>").count(), 3);
    }
}
