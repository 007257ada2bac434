//! The chart: a line a member and partition, self-contained.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rebalance_guard_sim::group::Act;

use super::SimulateError;
use super::figures::{Figures, seconds};
use super::history::{History, Row, State};
use super::report::{Arm, Report};
use super::scenario::Scenario;

/// Form of the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Svg,
    Html,
}

impl Kind {
    /// By the name's end.
    pub(super) fn of(path: &Path) -> Result<Self, SimulateError> {
        let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
        match end.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("html" | "htm") => Ok(Self::Html),
            _ => Err(SimulateError::ChartName(PathBuf::from(path))),
        }
    }
}

const WIDTH: u64 = 1_200;
/// Where time begins, right of the names.
const LEFT: u64 = 190;
const RIGHT: u64 = 20;
const LINE: u64 = 12;
const HEAD: u64 = 96;
/// Above each group: its name, the faults and the rebalances.
const ARM_HEAD: u64 = 58;
const ARM_FOOT: u64 = 34;

const STYLE: &str = "text{font:11px sans-serif;fill:#222}.h{font-size:14px;font-weight:bold}\
    .s{fill:#666}.owned{fill:#4c9a5b}.draining{fill:#e0a526}.committing{fill:#b9791a}\
    .paused{fill:#8fb8de}.lost{fill:#c62f2f}.effect{fill:#12351a}.again{fill:#d6127d}\
    .move{stroke:#5b4bb0;stroke-width:1;stroke-opacity:.35}.fault{fill:#c62f2f}\
    .start{fill:#777}.grid{stroke:#ddd}.lane{fill:#f4f4f4}";

/// The whole file.
pub(super) fn draw(kind: Kind, scenario: &Scenario, report: &Report) -> String {
    let svg = svg(scenario, report);
    match kind {
        Kind::Svg => svg,
        Kind::Html => html(&svg, report),
    }
}

fn html(svg: &str, report: &Report) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>rebalance-guard simulate</title></head>\n<body style=\"margin:16px\">\n{svg}\
         <pre>{}</pre>\n</body></html>\n",
        escaped(&report.table())
    )
}

fn svg(scenario: &Scenario, report: &Report) -> String {
    let histories: Vec<(&Arm, History)> =
        report.arms.iter().map(|arm| (arm, History::of(arm))).collect();
    // One scale for all, so that they can be compared.
    let end = histories.iter().map(|(_, history)| history.end).max().unwrap_or(1);
    let heights = histories.iter().map(|(_, history)| height(history));
    let height = HEAD + heights.sum::<u64>();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\">\n<style>{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (line, y) in report.title.lines().zip([18, 34]) {
        text(&mut svg, 10, y, "", &line.replace('\n', " "));
    }
    text(&mut svg, 10, 52, "s", &report.verdict());
    legend(&mut svg, 66);
    let mut top = HEAD;
    for (arm, history) in &histories {
        let canvas = Canvas { top, end };
        canvas.arm(&mut svg, arm, history, scenario);
        top += self::height(history);
    }
    svg.push_str("</svg>\n");
    svg
}

fn height(history: &History) -> u64 {
    ARM_HEAD + history.rows.len() as u64 * LINE + ARM_FOOT
}

fn legend(svg: &mut String, y: u64) {
    let kinds = [
        ("owned", "owned"),
        ("draining", "draining"),
        ("committing", "committing"),
        ("paused", "paused for want of room"),
        ("lost", "lost"),
        ("effect", "effects"),
        ("again", "effects repeated"),
        ("fault", "fault"),
        ("start", "start of a process"),
    ];
    let mut x = 10;
    for (class, name) in kinds {
        rect(svg, (x, y, 10, 10), class, "");
        text(svg, x + 14, y + 9, "", name);
        x += 34 + name.len() as u64 * 6;
    }
    let _ = writeln!(
        svg,
        "<line class=\"move\" style=\"stroke-opacity:1\" x1=\"{x}\" y1=\"{y}\" x2=\"{x}\" \
         y2=\"{}\"/>",
        y + 10
    );
    text(svg, x + 6, y + 9, "", "rebalance");
}

/// Where a group is drawn, and how long its time is.
struct Canvas {
    top: u64,
    end: u64,
}

impl Canvas {
    fn x(&self, at: u64) -> u64 {
        LEFT + (WIDTH - LEFT - RIGHT) * at.min(self.end) / self.end.max(1)
    }

    fn arm(&self, svg: &mut String, arm: &Arm, history: &History, scenario: &Scenario) {
        let Figures { dropped, repeated, absorbed_by_sink, paused_ms, .. } = arm.figures;
        let head = format!(
            "{}: {dropped} dropped, {repeated} repeated, {absorbed_by_sink} absorbed, \
             {} s paused",
            arm.name(),
            seconds(paused_ms)
        );
        text(svg, 10, self.top + 16, "h", &head);
        let rows = self.top + ARM_HEAD;
        let foot = rows + history.rows.len() as u64 * LINE;
        self.scale(svg, rows, foot);
        self.faults(svg, scenario, rows);
        for (((member, partition), row), number) in history.rows.iter().zip(0_u64..) {
            let y = rows + number * LINE;
            text(svg, 10, y + 9, "", &format!("member {}, partition {partition}", member + 1));
            rect(svg, (LEFT, y + 1, WIDTH - LEFT - RIGHT, LINE - 2), "lane", "");
            self.row(svg, y, row);
        }
        for at in &history.rebalances {
            let x = self.x(*at);
            let _ = writeln!(
                svg,
                "<line class=\"move\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{foot}\"/>",
                rows - 6
            );
        }
    }

    /// A line every so many seconds, ten at most.
    fn scale(&self, svg: &mut String, rows: u64, foot: u64) {
        let steps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600];
        let step = steps.into_iter().find(|step| self.end / (step * 1_000) <= 10);
        let step = step.unwrap_or(86_400) * 1_000;
        let mut at = 0;
        while at <= self.end {
            let x = self.x(at);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x}\" y1=\"{rows}\" x2=\"{x}\" y2=\"{}\"/>",
                foot + 4
            );
            text(svg, x, foot + 16, "s", &format!("{} s", at / 1_000));
            at += step;
        }
    }

    fn faults(&self, svg: &mut String, scenario: &Scenario, rows: u64) {
        for planned in &scenario.plan {
            let (x, y) = (self.x(planned.at), rows - 20);
            let what = super::faults::words(planned);
            let told = format!("{} s: {what}", seconds(planned.at));
            let class = if matches!(planned.act, Act::Start(_)) { "start" } else { "fault" };
            let _ = writeln!(
                svg,
                "<path class=\"{class}\" d=\"M{} {y}h8l-4 8z\"><title>{}</title></path>",
                x.saturating_sub(4),
                escaped(&told)
            );
        }
    }

    fn row(&self, svg: &mut String, y: u64, row: &Row) {
        for span in &row.spans {
            let (from, to) = (self.x(span.from), self.x(span.to));
            let class = match span.state {
                State::Owned => "owned",
                State::Draining => "draining",
                State::Committing => "committing",
                State::Paused => "paused",
            };
            let told = format!("{class} {} s to {} s", seconds(span.from), seconds(span.to));
            rect(svg, (from, y + 1, (to - from).max(1), LINE - 2), class, &told);
        }
        // Effects of the same pixel are one mark.
        let mut seen = BTreeSet::new();
        for (at, repeated) in &row.effects {
            seen.insert((*repeated, self.x(*at)));
        }
        for (repeated, x) in seen {
            if repeated {
                rect(svg, (x, y + 1, 2, LINE - 2), "again", "");
            } else {
                rect(svg, (x, y + 5, 1, 2), "effect", "");
            }
        }
        for at in &row.lost {
            rect(svg, (self.x(*at), y, 3, LINE), "lost", &format!("lost at {} s", seconds(*at)));
        }
    }
}

fn text(svg: &mut String, x: u64, y: u64, class: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{words}</text>");
}

fn rect(svg: &mut String, (x, y, width, height): (u64, u64, u64, u64), class: &str, told: &str) {
    let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
    let _ = if told.is_empty() {
        writeln!(svg, "<rect class=\"{class}\" {place}/>")
    } else {
        writeln!(svg, "<rect class=\"{class}\" {place}><title>{told}</title></rect>")
    };
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_the_end_of_the_name() {
        assert_eq!(Kind::of(Path::new("a.svg")).ok(), Some(Kind::Svg));
        assert_eq!(Kind::of(Path::new("a.HTML")).ok(), Some(Kind::Html));
        for name in ["a.png", "svg", ""] {
            let refused = Kind::of(Path::new(name)).expect_err(name).to_string();
            assert!(refused.contains(".svg or .html"), "{refused}");
        }
    }

    #[test]
    fn words_cannot_break_out_of_the_chart() {
        assert_eq!(escaped("a < b & c > d"), "a &lt; b &amp; c &gt; d");
    }
}
