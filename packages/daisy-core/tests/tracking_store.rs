//! Stores of tasks: what is marked is found again, and what is not ours is left alone.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use daisy_core::geometry::Roi;
use daisy_core::ids::{BlockRef, TaskId};
use daisy_core::marks::MarkSink;
use daisy_core::plan::{Fit, TaskOptions, TaskPlan};
use daisy_core::scheduler::BlockEnd;
use daisy_core::tracking::{ReadStore, Store, StoreOptions, TrackingSink, reset};
use daisy_core::{ErrorKind, Measurement};
use proptest::prelude::*;

/// A folder that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("daisy-store-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> PathBuf {
        self.0.join("task")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn task(shape: &[i64]) -> TaskPlan {
    let zeros = vec![0; shape.len()];
    let block = Roi::new(&zeros, &vec![1; shape.len()]).unwrap();
    let total = Roi::new(&zeros, shape).unwrap();
    TaskPlan::new("task", total, block, block, Fit::Valid, TaskOptions::default()).unwrap()
}

fn options() -> StoreOptions {
    StoreOptions { host: "here".to_owned(), measured: false, settings: None }
}

fn open(path: &Path, plan: &TaskPlan) -> Store {
    Store::open(path, plan, &options()).unwrap()
}

fn block(index: u64) -> BlockRef {
    BlockRef { task: TaskId(0), index }
}

fn listing(path: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(listing(&path));
        }
        found.insert(path);
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_marked_is_found_again(
        shape in proptest::collection::vec(1i64..60, 1..4),
        picks in proptest::collection::vec((0usize..3, any::<prop::sample::Index>()), 0..200),
    ) {
        let (scratch, plan) = (Scratch::new("found"), task(&shape));
        let blocks = plan.layout().block_count() as usize;
        let (mut done, mut failed) = (BTreeSet::new(), BTreeSet::new());
        let mut sink = TrackingSink::new(vec![Some(open(&scratch.store(), &plan))]).unwrap();
        for (kind, pick) in &picks {
            let index = pick.index(blocks) as u64;
            match kind {
                0 => { sink.settled(block(index), BlockEnd::Completed); done.insert(index); }
                1 => { sink.failed_attempt(block(index)); failed.insert(index); }
                _ => sink.settled(block(index), BlockEnd::Failed),
            }
        }
        sink.close().unwrap();
        let found = open(&scratch.store(), &plan).done().unwrap();
        prop_assert_eq!(found.count(), done.len() as u64);
        prop_assert!(found.iter().eq(done.iter().copied()));
        let read = ReadStore::open(&scratch.store(), &plan).unwrap();
        prop_assert!(read.failed().unwrap().into_iter().eq(failed.difference(&done).copied()));
    }
}

#[test]
fn failures_and_measurements_are_kept() {
    let (scratch, plan) = (Scratch::new("measured"), task(&[3, 5]));
    let store = Store::open(&scratch.store(), &plan, &StoreOptions { measured: true, ..options() }).unwrap();
    let mut sink = TrackingSink::new(vec![Some(store)]).unwrap();
    let measurement = Measurement { wall_seconds: 1.5, io_write_bytes: 1 << 40, ..Measurement::default() };
    sink.measured(block(7), &measurement);
    for _ in 0..3 {
        sink.failed_attempt(block(2));
    }
    sink.flush().unwrap();
    let cells = |name: &str| fs::read(scratch.store().join(name).join("c/0/0")).unwrap();
    assert_eq!(cells("failures")[4..6], 3u16.to_le_bytes());
    assert_eq!(cells("wall_seconds")[28..32], 1.5f32.to_le_bytes());
    assert_eq!(cells("wall_seconds")[..4], f32::NAN.to_le_bytes());
    assert_eq!(cells("io_write_bytes")[56..64], (1u64 << 40).to_le_bytes());
    assert!(!scratch.store().join("done/c").exists(), "nothing is done, so no chunk is made");
    drop(sink);
}

#[test]
fn a_flush_survives_the_end_of_the_process() {
    let (scratch, plan) = (Scratch::new("flush"), task(&[100_000]));
    let mut sink = TrackingSink::new(vec![Some(open(&scratch.store(), &plan))]).unwrap();
    for index in (0..100_000).step_by(7) {
        sink.settled(block(index), BlockEnd::Completed);
    }
    sink.flush().unwrap();
    // Read beside the running store, as after a crash: nothing may be pending in its memory.
    let done = ReadStore::open(&scratch.store(), &plan).unwrap().done().unwrap();
    assert!(done.iter().eq((0..100_000).step_by(7)));
}

#[test]
fn another_geometry_is_refused_with_each_difference() {
    let (scratch, plan) = (Scratch::new("mismatch"), task(&[10, 10]));
    drop(open(&scratch.store(), &plan));
    let before = listing(&scratch.0);
    let error = Store::open(&scratch.store(), &task(&[10, 12]), &options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreMismatch);
    assert!(error.to_string().contains("total_roi: was [0:10, 0:10], is now [0:10, 0:12]"), "{error}");
    assert!(ReadStore::open(&scratch.store(), &task(&[10, 12])).is_err());
    assert_eq!(listing(&scratch.0), before);
}

#[test]
fn a_second_run_is_refused_while_the_first_goes_on() {
    let (scratch, plan) = (Scratch::new("locked"), task(&[10]));
    let first = open(&scratch.store(), &plan);
    let error = Store::open(&scratch.store(), &plan, &options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreLocked);
    assert!(error.to_string().contains(&format!("process {} on here", std::process::id())), "{error}");
    assert_eq!(reset(&scratch.store(), "here").unwrap_err().kind(), ErrorKind::StoreLocked);
    drop(first);
    assert_eq!(open(&scratch.store(), &plan).notices(), [] as [&str; 0]);
}

#[test]
fn foreign_things_are_refused_and_left_alone() {
    let (scratch, plan) = (Scratch::new("foreign"), task(&[10]));
    let path = scratch.store();
    let cases: [&dyn Fn(); 4] = [
        &|| fs::write(&path, "a file").unwrap(),
        &|| {
            fs::create_dir(&path).unwrap();
            fs::write(path.join("thesis.txt"), "years of work").unwrap();
        },
        &|| {
            fs::create_dir_all(path.join("raw")).unwrap();
            fs::write(path.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
        },
        &|| {
            fs::create_dir(&path).unwrap();
            fs::write(path.join("zarr.json"), "{").unwrap();
        },
    ];
    for make in cases {
        make();
        let before = listing(&scratch.0);
        let error = Store::open(&path, &plan, &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store);
        assert!(error.to_string().contains("expected: "), "{error}");
        assert_eq!(reset(&path, "here").unwrap_err().kind(), ErrorKind::Store);
        assert_eq!(listing(&scratch.0), before);
        fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)).unwrap();
    }
}

#[test]
fn reset_deletes_the_store_and_nothing_else() {
    let (scratch, plan) = (Scratch::new("reset"), task(&[10]));
    let path = scratch.store();
    assert!(!reset(&path, "here").unwrap(), "nothing is there");
    let mut sink = TrackingSink::new(vec![Some(open(&path, &plan))]).unwrap();
    sink.settled(block(3), BlockEnd::Completed);
    sink.close().unwrap();
    assert!(reset(&path, "here").unwrap());
    assert!(!path.exists());

    drop(open(&path, &plan));
    fs::write(path.join("notes.txt"), "mine").unwrap();
    let precious = scratch.0.join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("data"), "mine").unwrap();
    fs::remove_dir_all(path.join("failures")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&precious, path.join("failures")).unwrap();
    assert!(reset(&path, "here").unwrap());
    assert_eq!(listing(&path), BTreeSet::from([path.join("notes.txt")]));
    assert!(precious.join("data").exists());
}

#[test]
fn the_making_of_a_store_may_be_interrupted_anywhere() {
    let (scratch, plan) = (Scratch::new("interrupted"), task(&[10]));
    let path = scratch.store();
    drop(open(&path, &plan));
    let all = ["failures/zarr.json", "failures", "done/zarr.json", "zarr.json", "done", ""];
    for gone in 0..all.len() {
        for name in &all[..=gone] {
            let victim = path.join(name);
            fs::remove_file(&victim).or_else(|_| fs::remove_dir_all(&victim)).unwrap();
        }
        assert_eq!(open(&path, &plan).done().unwrap().count(), 0);
    }
}

#[test]
fn arrays_made_by_users_are_honoured_or_refused() {
    let (scratch, plan) = (Scratch::new("user"), task(&[5, 7]));
    let path = scratch.store();
    let make = |codecs: &str| {
        fs::create_dir_all(path.join("done")).unwrap();
        fs::write(path.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
        let array = format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": [5, 7], "data_type": "uint8",
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [2, 3]}}}},
            "chunk_key_encoding": {{"name": "default", "configuration": {{"separator": "."}}}},
            "fill_value": 0, "codecs": {codecs}}}"#
        );
        fs::write(path.join("done/zarr.json"), array).unwrap();
        fs::write(path.join("done/c.2.2"), [1, 0, 0, 0, 0, 0]).unwrap();
    };
    make(r#"[{"name": "bytes"}]"#);
    let mut sink = TrackingSink::new(vec![Some(open(&path, &plan))]).unwrap();
    sink.settled(block(0), BlockEnd::Completed);
    sink.settled(block(8), BlockEnd::Completed);
    sink.close().unwrap();
    assert_eq!(fs::read(path.join("done/c.0.0")).unwrap(), [1, 0, 0, 0, 1, 0]);
    assert!(open(&path, &plan).done().unwrap().iter().eq([0, 8, 34]));
    assert_eq!(reset(&path, "here").unwrap_err().kind(), ErrorKind::Store);

    fs::remove_dir_all(&path).unwrap();
    make(r#"[{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 0}}]"#);
    let error = Store::open(&path, &plan, &options()).unwrap_err().to_string();
    assert!(error.contains("zstd") && error.contains("expected: only `bytes`"), "{error}");
    assert_eq!(fs::read(path.join("done/c.2.2")).unwrap(), [1, 0, 0, 0, 0, 0]);
}

#[test]
fn a_hundred_million_done_blocks_load_fast() {
    let (scratch, plan) = (Scratch::new("large"), task(&[1000, 1000, 100]));
    let mut store = open(&scratch.store(), &plan);
    // A chunk holds 655 rows of 100 blocks; of the last chunk of a plane 345 rows are inside the array.
    (0..65_500).for_each(|index| store.mark_done(index).unwrap());
    (100_000..165_500).filter(|index| index % 100 < 3).for_each(|index| store.mark_done(index).unwrap());
    store.flush().unwrap();
    let chunk = |plane: u64, part: u64| scratch.store().join(format!("done/c/{plane}/{part}/0"));
    for plane in 2..1000 {
        for part in 0..2 {
            fs::create_dir_all(chunk(plane, part).parent().unwrap()).unwrap();
            fs::copy(chunk(u64::from(plane >= 500), 0), chunk(plane, part)).unwrap();
        }
    }
    let began = Instant::now();
    let done = store.done().unwrap();
    let seconds = began.elapsed().as_secs_f64();
    println!("loaded {} of {} in {seconds:.3} s", done.count(), done.len());
    assert_eq!(done.count(), 65_500 + 498 * 100_000 + 655 * 3 + 500 * 3000);
    // An order of magnitude above what it takes, for busy machines.
    assert!(seconds < 3.0, "took {seconds} s");
}
