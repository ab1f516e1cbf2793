//! Blocks and dependencies against a judge that looks at all pairs.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::{any_numbers, conflict, indices, numbers};
use daisy_core::geometry::{Coordinate, IndexSet, Roi};
use daisy_core::graph::{Within, covered, readers, readers_of_box, writers};
use daisy_core::plan::{BlockLayout, Fit};
use proptest::prelude::*;

/// Every block that must have ended before each block may start, directly or through others.
fn ancestors(layout: &BlockLayout, within: &Within) -> Vec<IndexSet> {
    let count = layout.block_count();
    let mut order: Vec<u64> = (0..count).collect();
    order.sort_by_key(|index| within.levels().level(&layout.grid().position(*index)));
    let mut sets = vec![IndexSet::new(count); count as usize];
    for index in order {
        let mut set = IndexSet::new(count);
        within.for_each_predecessor(&layout.grid().position(index), &mut |other| {
            set.insert(other);
            set.insert_all(&sets[other as usize]);
        });
        sets[index as usize] = set;
    }
    sets
}

fn check_tiling(layout: &BlockLayout) -> Result<(), TestCaseError> {
    let total = layout.total_write_roi();
    let mut volume = 0i64;
    for index in 0..layout.block_count() {
        let (read, write) = (layout.read_roi(index), layout.write_roi(index));
        prop_assert!(read.contains(&write) && !write.is_empty());
        prop_assert!(layout.fit() == Fit::Overhang || total.contains(&write));
        prop_assert!(layout.fit() == Fit::Overhang || layout.total_roi().contains(&read));
        prop_assert_eq!(layout.index_of_id(layout.block_id(index)), Some(index));
        let begin: Vec<i64> = write.begin().iter().zip(total.begin().iter()).map(|(w, t)| w - t).collect();
        let cut: i64 =
            (0..layout.dims()).map(|a| write.shape()[a].min(total.shape()[a] - begin[a])).product();
        volume += cut;
        for other in 0..index {
            prop_assert!(!write.meets(&layout.write_roi(other)), "blocks {other} and {index} overlap");
        }
    }
    let expected: i64 = (0..layout.dims())
        .map(|a| match layout.fit() {
            Fit::Valid => total.shape()[a] / layout.block_shape()[a] * layout.block_shape()[a],
            Fit::Overhang | Fit::Shrink => total.shape()[a],
        })
        .product();
    prop_assert_eq!(volume, expected);
    Ok(())
}

fn check_order(layout: &BlockLayout) -> Result<(), TestCaseError> {
    let within = Within::new(layout, true);
    let sets = ancestors(layout, &within);
    let mut roots = 0;
    for a in 0..layout.block_count() {
        let position = layout.grid().position(a);
        let mut predecessors = BTreeSet::new();
        within.for_each_predecessor(&position, &mut |other| {
            predecessors.insert(other);
        });
        prop_assert_eq!(predecessors.len(), within.predecessor_count(&position) as usize);
        roots += u64::from(predecessors.is_empty());
        for other in &predecessors {
            let mut successors = BTreeSet::new();
            within.for_each_successor(&layout.grid().position(*other), &mut |next| {
                successors.insert(next);
            });
            prop_assert!(successors.contains(&a));
        }
        for b in 0..a {
            let ordered = sets[a as usize].contains(b) || sets[b as usize].contains(a);
            if conflict(layout, a, b) {
                prop_assert!(ordered, "blocks {a} and {b} conflict and are not ordered");
            }
        }
    }
    prop_assert_eq!(roots, within.levels().count_in(0, &layout.grid().whole()));
    Ok(())
}

/// Where some blocks do not run, each waits for every conflicting one of a lower level.
fn check_direct_edges(layout: &BlockLayout) -> Result<(), TestCaseError> {
    let within = Within::with_gaps(layout, true);
    let level = |index: u64| within.levels().level(&layout.grid().position(index));
    for a in 0..layout.block_count() {
        let position = layout.grid().position(a);
        let (mut lower, mut higher) = (BTreeSet::new(), BTreeSet::new());
        within.for_each_predecessor(&position, &mut |other| {
            lower.insert(other);
        });
        within.for_each_successor(&position, &mut |other| {
            higher.insert(other);
        });
        prop_assert_eq!(lower.len(), within.predecessor_count(&position) as usize);
        for b in (0..layout.block_count()).filter(|b| *b != a) {
            let conflicts = conflict(layout, a, b);
            prop_assert!(!conflicts || level(a) != level(b));
            prop_assert_eq!(lower.contains(&b), conflicts && level(b) < level(a), "{} and {}", a, b);
            prop_assert_eq!(higher.contains(&b), conflicts && level(b) > level(a), "{} and {}", a, b);
        }
    }
    Ok(())
}

fn check_edge(up: &BlockLayout, down: &BlockLayout) -> Result<(), TestCaseError> {
    let mut read_by_someone = BTreeSet::new();
    for d in 0..down.block_count() {
        let expected: Vec<u64> =
            (0..up.block_count()).filter(|u| up.write_roi(*u).meets(&down.read_roi(d))).collect();
        prop_assert_eq!(&indices(up.grid(), &writers(up, down, d)), &expected);
        if !expected.is_empty() {
            read_by_someone.insert(d);
        }
    }
    prop_assert!(indices(down.grid(), &covered(up, down)).iter().eq(read_by_someone.iter()));
    for u in 0..up.block_count() {
        let expected: Vec<u64> =
            (0..down.block_count()).filter(|d| up.write_roi(u).meets(&down.read_roi(*d))).collect();
        prop_assert_eq!(indices(down.grid(), &readers(up, down, u)), expected);
    }
    let all = readers_of_box(up, down, &up.grid().whole());
    prop_assert!(indices(down.grid(), &all).iter().eq(read_by_someone.iter()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_voxel_is_written_exactly_once(numbers in any_numbers()) {
        check_tiling(&numbers.layout())?;
    }

    #[test]
    fn conflicting_blocks_are_ordered(numbers in any_numbers()) {
        check_order(&numbers.layout())?;
        check_direct_edges(&numbers.layout())?;
    }

    #[test]
    fn edges_connect_writers_with_readers((up, down) in (1usize..=3).prop_flat_map(|d| (numbers(d), numbers(d)))) {
        check_edge(&up.layout(), &down.layout())?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn up_to_eight_dimensions(numbers in (5usize..=8).prop_flat_map(numbers)) {
        let layout = numbers.layout();
        prop_assume!(layout.block_count() <= 800);
        check_tiling(&layout)?;
        check_order(&layout)?;
    }
}

#[test]
fn extremes_are_refused_or_right() {
    let far = 1i64 << 62;
    let at = |begin: i64, shape: i64| Roi::new(&[begin], &[shape]).unwrap();
    let layout = BlockLayout::new(at(far, 1000), at(-1, 12), at(0, 10), Fit::Shrink).unwrap();
    assert_eq!(layout.write_roi(layout.block_count() - 1).end(), Coordinate::new(&[far + 999]).unwrap());
    assert!(Roi::new(&[i64::MAX], &[1]).is_err());
    let all = at(i64::MIN, i64::MAX);
    let wide = BlockLayout::new(all, at(-1, 1 << 61), at(0, 1 << 60), Fit::Shrink).unwrap();
    check_tiling(&wide).unwrap();
    check_edge(&wide, &wide).unwrap();
    let top = at(i64::MAX - 100, 100);
    assert!(BlockLayout::new(top, at(0, 30), at(0, 30), Fit::Overhang).is_err(), "sticks out of 64 bits");
    check_tiling(&BlockLayout::new(top, at(-5, 40), at(0, 30), Fit::Shrink).unwrap()).unwrap();
    check_tiling(&BlockLayout::new(top, at(-5, 1 << 62), at(0, 1 << 60), Fit::Shrink).unwrap()).unwrap();
    let id = Roi::new(&[0, 0], &[1 << 40, 1 << 22]).unwrap();
    let one = Roi::new(&[0, 0], &[1, 1]).unwrap();
    assert!(BlockLayout::new(id, one, one, Fit::Valid).is_err(), "ids past 2**63");
}

#[test]
fn a_volume_smaller_than_its_context_has_no_blocks() {
    let roi = |begin: i64, shape: i64| Roi::new(&[begin, 0], &[shape, 10]).unwrap();
    let layout = BlockLayout::new(roi(0, 5), roi(-10, 25), roi(0, 5), Fit::Overhang).unwrap();
    assert_eq!(layout.block_count(), 0);
    assert!(covered(&layout, &layout).is_empty());
}
