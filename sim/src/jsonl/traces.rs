//! Traces of the simulator as files.

use rebalance_guard::{Input, Partition, Reply};

use super::write::Writer;
use crate::model::Model;
use crate::trace::{Action, Offered, Runner, Said, Step, Trace};

/// A trace of the simulator as a file, names of tickets as the reference model gives them.
/// Batches are written record by record.
pub fn lines(trace: &Trace) -> String {
    let mut writer = Writer::default();
    let mut text = writer.config(&trace.config, &[]) + "\n";
    let (mut model, mut runner) = (Model::new(trace.config), Runner::default());
    let topic = |number: u32| if number == 0 { "t".to_owned() } else { format!("t{number}") };
    for step in single_steps(trace) {
        let answer = match &step.action {
            Action::Tick => {
                text += &format!("{}\n", Writer::tick(step.now));
                runner.step(&mut model, &[], &step)
            }
            action => {
                let line = runner.with_input(action, |input| {
                    (writer.input(step.now, &input, topic), input.about_record())
                });
                text += &format!("{}\n", line.0);
                let answer = runner.step(&mut model, &[], &step);
                if let (Some((partition, offset)), Said::Reply(Ok(Reply::Verdict(verdict)))) =
                    (line.1, &answer.said)
                {
                    writer.verdict(partition, offset, verdict);
                }
                answer
            }
        };
        answer.outputs.iter().for_each(|output| writer.pulled(output));
    }
    text
}

trait AboutRecord {
    fn about_record(&self) -> Option<(Partition, u64)>;
}

impl AboutRecord for Input<'_> {
    fn about_record(&self) -> Option<(Partition, u64)> {
        match self {
            Input::Admit(record) => Some((record.partition, record.offset.value())),
            _ => None,
        }
    }
}

fn single_steps(trace: &Trace) -> Vec<Step> {
    let mut steps = Vec::new();
    for step in &trace.steps {
        match &step.action {
            Action::AdmitBatch(records) => {
                let one = |record: &Offered| Step {
                    now: step.now,
                    action: Action::Admit(record.clone()),
                };
                steps.extend(records.iter().map(one));
            }
            _ => steps.push(step.clone()),
        }
    }
    steps
}
