//! The table of topic names: the guard knows topics by number, and names are never glued.

use std::collections::HashMap;
use std::sync::Arc;

use rebalance_guard::Partition;

/// Names and numbers, each given once and never taken back in the process's life.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Topics {
    /// A table in which these have the first numbers, in this order.
    pub(crate) fn of(names: &[String]) -> Self {
        let mut topics = Self::default();
        for name in names {
            topics.number(name);
        }
        topics
    }

    /// The guard's name for partition `index` of `topic`.
    pub(crate) fn partition(&mut self, topic: &str, index: i32) -> Partition {
        Partition::new(self.number(topic), index)
    }

    /// The name of a topic that was numbered here.
    pub(crate) fn name(&self, partition: Partition) -> Arc<str> {
        let known = usize::try_from(partition.topic).ok().and_then(|at| self.names.get(at));
        known.map_or_else(|| Arc::from("?"), Arc::clone)
    }

    fn number(&mut self, topic: &str) -> u32 {
        if let Some(number) = self.numbers.get(topic) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name: Arc<str> = topic.into();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_glue_to_one_text_stay_two_topics() {
        let mut topics = Topics::default();
        // "a-1" + "1" and "a" + "-11": B127's family of mistakes.
        let first = topics.partition("a-1", 1);
        let second = topics.partition("a", 11);
        assert_eq!((first, second), (Partition::new(0, 1), Partition::new(1, 11)));
        assert_eq!(topics.partition("a-1", 1), first);
        assert_eq!((&*topics.name(first), &*topics.name(second)), ("a-1", "a"));
    }
}
