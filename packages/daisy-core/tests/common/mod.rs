//! What several test files need: random layouts, and the brute-force judge.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use daisy_core::geometry::{Grid, GridBox, Roi};
use daisy_core::plan::{BlockLayout, Fit};
use proptest::prelude::*;

/// A layout as numbers, so that failing cases print well.
#[derive(Clone, Debug)]
pub struct Numbers {
    pub total: (Vec<i64>, Vec<i64>),
    pub write: (Vec<i64>, Vec<i64>),
    pub lower: Vec<i64>,
    pub upper: Vec<i64>,
    pub fit: Fit,
}

impl Numbers {
    pub fn rois(&self) -> (Roi, Roi, Roi) {
        let begin: Vec<i64> = self.write.0.iter().zip(&self.lower).map(|(w, l)| w - l).collect();
        let shape: Vec<i64> = self
            .write
            .1
            .iter()
            .zip(self.lower.iter().zip(&self.upper))
            .map(|(w, (l, u))| w + l + u)
            .collect();
        (
            Roi::new(&self.total.0, &self.total.1).unwrap(),
            Roi::new(&begin, &shape).unwrap(),
            Roi::new(&self.write.0, &self.write.1).unwrap(),
        )
    }

    pub fn layout(&self) -> BlockLayout {
        let (total, read, write) = self.rois();
        BlockLayout::new(total, read, write, self.fit).unwrap()
    }
}

/// Random layouts of this rank with at most a few hundred blocks: negative offsets, asymmetric and
/// anisotropic contexts, contexts larger than a block, axes of size one, every fit.
pub fn numbers(dims: usize) -> impl Strategy<Value = Numbers> {
    let most = [0, 40, 24, 14, 9, 6, 5, 4, 3][dims];
    let axis = (-20i64..20, 1i64..=most, -5i64..5, 1i64..=5, 0i64..=7, 0i64..=7);
    let fits = prop_oneof![Just(Fit::Valid), Just(Fit::Overhang), Just(Fit::Shrink)];
    (proptest::collection::vec(axis, dims), fits, 0..3u8).prop_map(move |(axes, fit, context)| {
        // One third without context, one third with a small one, one third with a large one.
        let scale = |value: i64| match context {
            0 => 0,
            1 => value / 3,
            _ => value,
        };
        Numbers {
            total: (
                axes.iter().map(|a| a.0).collect(),
                axes.iter().map(|a| a.1 + scale(a.4) + scale(a.5)).collect(),
            ),
            write: (axes.iter().map(|a| a.2).collect(), axes.iter().map(|a| a.3).collect()),
            lower: axes.iter().map(|a| scale(a.4)).collect(),
            upper: axes.iter().map(|a| scale(a.5)).collect(),
            fit,
        }
    })
}

pub fn any_numbers() -> impl Strategy<Value = Numbers> {
    (1usize..=4).prop_flat_map(numbers)
}

pub fn indices(grid: &Grid, within: &GridBox) -> Vec<u64> {
    within.positions().map(|position| grid.index(&position)).collect()
}

/// Whether one block reads what the other writes.
pub fn conflict(layout: &BlockLayout, a: u64, b: u64) -> bool {
    layout.read_roi(a).meets(&layout.write_roi(b)) || layout.read_roi(b).meets(&layout.write_roi(a))
}
