//! Which task a store belongs to, as its attributes say.

use serde::{Deserialize, Serialize};

use crate::geometry::Roi;
use crate::plan::TaskPlan;

/// Version of the layout of stores.
pub(super) const STORE_VERSION: u32 = 1;

/// A box as its first corner and its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Region {
    begin: Vec<i64>,
    shape: Vec<i64>,
}

/// The geometry that the cells of a store are about. Attribute `daisy` of the group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) store_version: u32,
    pub(super) daisy_version: String,
    pub(super) task: String,
    total_roi: Region,
    /// Read and write ROI of the block at index zero, not cut at the edge.
    read_roi: Region,
    write_roi: Region,
    fit: String,
}

impl From<Roi> for Region {
    fn from(roi: Roi) -> Self {
        Self { begin: roi.begin().to_vec(), shape: roi.shape().to_vec() }
    }
}

impl Region {
    fn show(&self) -> String {
        let sides: Vec<String> = self
            .begin
            .iter()
            .zip(&self.shape)
            .map(|(begin, shape)| format!("{begin}:{}", begin.saturating_add(*shape)))
            .collect();
        format!("[{}]", sides.join(", "))
    }
}

impl Identity {
    pub(super) fn of(plan: &TaskPlan) -> Self {
        let layout = plan.layout();
        let write =
            Region { begin: layout.total_write_roi().begin().to_vec(), shape: layout.block_shape().to_vec() };
        let (lower, upper) = (layout.context_lower(), layout.context_upper());
        let read = Region {
            begin: write.begin.iter().zip(lower.iter()).map(|(begin, lower)| begin - lower).collect(),
            shape: (0..layout.dims()).map(|axis| lower[axis] + write.shape[axis] + upper[axis]).collect(),
        };
        Self {
            store_version: STORE_VERSION,
            daisy_version: env!("CARGO_PKG_VERSION").to_owned(),
            task: plan.name().to_owned(),
            total_roi: layout.total_roi().into(),
            read_roi: read,
            write_roi: write,
            fit: layout.fit().name().to_owned(),
        }
    }

    /// How far reading exceeds writing, at the lower and upper side.
    fn context(&self) -> (Vec<i64>, Vec<i64>) {
        let side = |pair: (&i64, &i64)| pair.0.saturating_sub(*pair.1);
        let lower: Vec<i64> = self.write_roi.begin.iter().zip(&self.read_roi.begin).map(side).collect();
        let grown: Vec<i64> = self.read_roi.shape.iter().zip(&self.write_roi.shape).map(side).collect();
        let upper = grown.iter().zip(&lower).map(side).collect();
        (lower, upper)
    }

    /// What makes the blocks of `self`, a store, others than those of `wanted`: parameter, and from what to
    /// what.
    pub(super) fn differences(&self, wanted: &Self) -> Vec<(&'static str, String)> {
        let mut list = Vec::new();
        let mut compare = |name, stored: String, wanted: String| {
            if stored != wanted {
                list.push((name, format!("was {stored}, is now {wanted}")));
            }
        };
        compare("total_roi", self.total_roi.show(), wanted.total_roi.show());
        compare("write_roi shape", show(&self.write_roi.shape), show(&wanted.write_roi.shape));
        let ((lower, upper), (lower_now, upper_now)) = (self.context(), wanted.context());
        compare(
            "context at the lower side (write_roi.begin - read_roi.begin)",
            show(&lower),
            show(&lower_now),
        );
        compare("context at the upper side (read_roi.end - write_roi.end)", show(&upper), show(&upper_now));
        compare("fit", format!("{:?}", self.fit), format!("{:?}", wanted.fit));
        if !list.is_empty() && self.task != wanted.task {
            list.push(("task_id", format!("was {:?}, is now {:?}", self.task, wanted.task)));
        }
        list
    }
}

fn show(values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(i64::to_string).collect();
    format!("({})", values.join(", "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::{Fit, TaskOptions};

    fn identity(
        total: (&[i64], &[i64]),
        read: (&[i64], &[i64]),
        write: (&[i64], &[i64]),
        fit: Fit,
    ) -> Identity {
        let roi = |(begin, shape)| Roi::new(begin, shape).unwrap();
        let options = TaskOptions::default();
        Identity::of(&TaskPlan::new("a", roi(total), roi(read), roi(write), fit, options).unwrap())
    }

    #[test]
    fn each_difference_is_listed_from_what_to_what() {
        let stored = identity((&[0, 0], &[100, 50]), (&[-1, 0], &[12, 10]), (&[0, 0], &[10, 10]), Fit::Valid);
        let same = identity((&[0, 0], &[100, 50]), (&[49, 7], &[12, 10]), (&[50, 7], &[10, 10]), Fit::Valid);
        assert_eq!(stored.differences(&same), [], "where the read and write ROI are given changes nothing");
        let other = identity((&[0, 0], &[100, 60]), (&[-2, 0], &[23, 10]), (&[0, 0], &[20, 10]), Fit::Shrink);
        let all: Vec<String> =
            stored.differences(&other).iter().map(|(name, text)| format!("{name}: {text}")).collect();
        assert_eq!(
            all,
            [
                "total_roi: was [0:100, 0:50], is now [0:100, 0:60]",
                "write_roi shape: was (10, 10), is now (20, 10)",
                "context at the lower side (write_roi.begin - read_roi.begin): was (1, 0), is now (2, 0)",
                "fit: was \"valid\", is now \"shrink\"",
            ]
        );
    }

    #[test]
    fn attributes_survive_json() {
        let identity = identity((&[-5], &[100]), (&[0], &[10]), (&[0], &[10]), Fit::Overhang);
        let text = serde_json::to_string(&identity).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), identity);
    }
}
