//! Blocks, ids, levels and dependencies as daisy 1.2.3 and 2.0.0 have them.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::indices;
use daisy_core::geometry::Roi;
use daisy_core::graph::{Within, writers};
use daisy_core::plan::BlockLayout;
use serde::Deserialize;

type Pair = (Vec<i64>, Vec<i64>);

#[derive(Deserialize)]
struct GoldenTask {
    total: Pair,
    read: Pair,
    write: Pair,
    conflict: bool,
    fit: String,
    #[serde(default)]
    num_levels: u64,
    #[serde(default)]
    blocks: Vec<GoldenBlock>,
}

#[derive(Deserialize)]
struct GoldenBlock {
    id: u64,
    read: Pair,
    write: Pair,
    waits_for: BTreeSet<u64>,
}

#[derive(Deserialize)]
struct GoldenPair {
    up: GoldenTask,
    dn: GoldenTask,
    dn_waits_for_up: BTreeMap<String, BTreeSet<u64>>,
}

fn roi(pair: &Pair) -> Roi {
    Roi::new(&pair.0, &pair.1).unwrap()
}

fn layout(task: &GoldenTask) -> BlockLayout {
    BlockLayout::new(roi(&task.total), roi(&task.read), roi(&task.write), task.fit.parse().unwrap()).unwrap()
}

#[test]
fn blocks_are_those_of_daisy() {
    let tasks: Vec<GoldenTask> = serde_json::from_str(include_str!("golden/blocks.json")).unwrap();
    assert_eq!(tasks.len(), 80);
    for task in &tasks {
        let layout = layout(task);
        let within = Within::new(&layout, task.conflict);
        assert_eq!(within.levels().count(), task.num_levels);
        assert_eq!(layout.block_count(), task.blocks.len() as u64);
        let mut listed = Vec::new();
        for level in 0..within.levels().count() {
            listed.extend(
                (0..layout.block_count())
                    .filter(|index| within.levels().level(&layout.grid().position(*index)) == level),
            );
        }
        for (index, block) in listed.iter().zip(&task.blocks) {
            assert_eq!(layout.block_id(*index), block.id);
            assert_eq!(layout.index_of_id(block.id), Some(*index));
            assert_eq!(layout.read_roi(*index), roi(&block.read));
            assert_eq!(layout.write_roi(*index), roi(&block.write));
            let mut waits_for = BTreeSet::new();
            let position = layout.grid().position(*index);
            within.for_each_predecessor(&position, &mut |other| {
                waits_for.insert(layout.block_id(other));
            });
            assert_eq!(waits_for, block.waits_for, "block {}", block.id);
            assert_eq!(within.predecessor_count(&position) as usize, block.waits_for.len());
        }
    }
}

#[test]
fn blocks_wait_for_what_they_read() {
    let pairs: Vec<GoldenPair> = serde_json::from_str(include_str!("golden/pipelines.json")).unwrap();
    assert_eq!(pairs.len(), 40);
    for pair in &pairs {
        let (up, down) = (layout(&pair.up), layout(&pair.dn));
        let mut waits = BTreeMap::new();
        for index in 0..down.block_count() {
            let found: BTreeSet<u64> =
                indices(up.grid(), &writers(&up, &down, index)).iter().map(|i| up.block_id(*i)).collect();
            waits.insert(down.block_id(index).to_string(), found);
        }
        assert_eq!(waits, pair.dn_waits_for_up);
    }
}
