//! Pipelines of unusual size and shape. Work is counted, not timed: what takes steps per block where it
//! should take steps per region does not end within the bounds here.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use daisy_core::geometry::{IndexSet, Roi};
use daisy_core::graph::preview;
use daisy_core::ids::{BlockRef, TaskId};
use daisy_core::plan::{Edge, Fit, Pipeline, RetryPolicy, TaskOptions, TaskPlan};
use daisy_core::scheduler::{
    Action, Counters, Event, ManualScheduler, Outcome, Prior, Released, Scheduler, Settings, TaskState,
};

fn roi(begin: &[i64], shape: &[i64]) -> Roi {
    Roi::new(begin, shape).unwrap()
}

fn options(max_retries: u32) -> TaskOptions {
    TaskOptions { retry: RetryPolicy { max_retries, ..RetryPolicy::default() }, ..TaskOptions::default() }
}

fn cube(name: &str, cells: i64, halo: i64) -> TaskPlan {
    TaskPlan::new(
        name,
        roi(&[-halo; 3], &[cells * 10 + 2 * halo; 3]),
        roi(&[-halo; 3], &[10 + 2 * halo; 3]),
        roi(&[0; 3], &[10; 3]),
        Fit::Valid,
        options(0),
    )
    .unwrap()
}

fn row(name: &str, total: (i64, i64), read: (i64, i64), write: (i64, i64), fit: Fit) -> TaskPlan {
    let line = |pair: (i64, i64)| roi(&[pair.0], &[pair.1]);
    TaskPlan::new(name, line(total), line(read), line(write), fit, options(0)).unwrap()
}

fn edge(upstream: u32, downstream: u32) -> Edge {
    Edge { upstream: TaskId(upstream), downstream: TaskId(downstream) }
}

fn scheduler(tasks: Vec<TaskPlan>, edges: &[Edge]) -> ManualScheduler {
    ManualScheduler::new(Arc::new(Pipeline::new(tasks, edges).unwrap()), Vec::new())
}

fn counters(scheduler: &ManualScheduler, task: u32) -> Counters {
    scheduler.task_state(TaskId(task)).counters().clone()
}

/// Runs all that can run, downstream tasks first; how many blocks that were.
fn drain(scheduler: &mut ManualScheduler) -> u64 {
    let order: Vec<TaskId> = scheduler.pipeline().order().iter().rev().copied().collect();
    let mut done = 0;
    while let Some((task, index)) = order.iter().find_map(|task| Some((*task, scheduler.acquire(*task)?))) {
        scheduler.release(BlockRef { task, index }, true).unwrap();
        done += 1;
    }
    done
}

#[test]
fn one_failure_orphans_a_million_blocks_as_a_region() {
    let whole = TaskPlan::new(
        "whole",
        roi(&[0; 3], &[1000; 3]),
        roi(&[0; 3], &[1000; 3]),
        roi(&[0; 3], &[1000; 3]),
        Fit::Valid,
        options(0),
    );
    let tasks = vec![whole.unwrap(), cube("a", 100, 2), cube("b", 100, 2), cube("c", 100, 0)];
    let mut scheduler = scheduler(tasks, &[edge(0, 1), edge(1, 2), edge(2, 3)]);
    let index = scheduler.acquire(TaskId(0)).unwrap();
    assert_eq!(scheduler.release(BlockRef { task: TaskId(0), index }, false).unwrap(), Released::Failed);
    for task in 1..4 {
        assert_eq!(counters(&scheduler, task).orphaned, 1_000_000);
        assert!(matches!(scheduler.task_state(TaskId(task)), TaskState::Done(_)));
    }
}

#[test]
fn a_billion_blocks_can_be_orphaned_and_given_up() {
    let mut scheduler = scheduler(vec![row("up", (0, 1), (0, 1), (0, 1), Fit::Valid)], &[]);
    assert_eq!(drain(&mut scheduler), 1);
    let tasks = vec![cube("a", 1000, 2), cube("b", 1000, 2)];
    let pipeline = Arc::new(Pipeline::new(tasks, &[edge(0, 1)]).unwrap());
    let mut run = Scheduler::new(pipeline, Settings::default(), Vec::new()).unwrap();
    let (mut actions, now) = (Vec::new(), std::time::Duration::ZERO);
    run.start(now, &mut actions);
    // Every block fails, so the task is given up after fifty of them.
    while let Some(action) = actions.pop() {
        match action {
            Action::Launch { worker, task } => {
                let event = Event::WorkerConnected { worker, task, capacity: 1, external: false };
                run.handle(event, now, &mut actions);
            }
            Action::Grant { worker, block, attempt } => {
                let outcome = Outcome::Failed { error: "ValueError: no".into() };
                let event = Event::Reported { worker, block, attempt, outcome, duration: now };
                run.handle(event, now, &mut actions);
            }
            _ => {}
        }
    }
    assert!(run.is_finished());
    let report = run.report();
    let state = &report.tasks[0].state;
    assert!(matches!(state, TaskState::Abandoned { .. }), "{state:?}");
    assert_eq!(state.counters().failed, 50);
    assert_eq!(state.counters().failed + state.counters().orphaned, 1_000_000_000);
    assert_eq!(report.tasks[1].state.counters().orphaned, 1_000_000_000);
    assert_eq!(report.tasks[0].errors[0].count, 50);
}

#[test]
fn a_deep_and_a_wide_pipeline_finish() {
    let task = |number: u32| row(&format!("t{number}"), (-2, 44), (-2, 14), (0, 10), Fit::Valid);
    let tasks: Vec<TaskPlan> = (0..1000).map(task).collect();
    let chain: Vec<Edge> = (1..1000).map(|down| edge(down - 1, down)).collect();
    assert_eq!(drain(&mut scheduler(tasks.clone(), &chain)), 4000);
    let fan: Vec<Edge> = (1..999).flat_map(|middle| [edge(0, middle), edge(middle, 999)]).collect();
    assert_eq!(drain(&mut scheduler(tasks, &fan)), 4000);
}

#[test]
fn a_failure_deep_in_a_chain_orphans_all_below_it() {
    let tasks: Vec<TaskPlan> =
        (0..1000).map(|number| row(&format!("t{number}"), (0, 40), (0, 10), (0, 10), Fit::Valid)).collect();
    let chain: Vec<Edge> = (1..1000).map(|down| edge(down - 1, down)).collect();
    let mut scheduler = scheduler(tasks, &chain);
    let index = scheduler.acquire(TaskId(0)).unwrap();
    scheduler.release(BlockRef { task: TaskId(0), index }, false).unwrap();
    assert_eq!(drain(&mut scheduler), 3 * 1000);
    assert_eq!(counters(&scheduler, 999).orphaned, 1);
}

#[test]
fn a_task_without_blocks_in_the_middle_stops_nobody() {
    let tasks = vec![
        row("a", (0, 40), (0, 10), (0, 10), Fit::Valid),
        row("none", (0, 5), (0, 10), (0, 10), Fit::Valid),
        row("c", (0, 40), (0, 10), (0, 10), Fit::Valid),
    ];
    let mut scheduler = scheduler(tasks, &[edge(0, 1), edge(1, 2)]);
    assert_eq!(counters(&scheduler, 2).ready, 4);
    assert_eq!(drain(&mut scheduler), 8);
}

#[test]
fn what_nobody_writes_is_not_waited_for() {
    // Two upstream tasks cover the two ends; fit="valid" leaves a remainder.
    let tasks = vec![
        row("left", (0, 25), (0, 10), (0, 10), Fit::Valid),
        row("right", (70, 30), (0, 10), (0, 10), Fit::Valid),
        row("all", (0, 100), (0, 5), (0, 5), Fit::Valid),
        row("context to the right only", (0, 100), (0, 9), (0, 5), Fit::Shrink),
    ];
    let mut scheduler = scheduler(tasks, &[edge(0, 2), edge(1, 2), edge(2, 3)]);
    assert_eq!(counters(&scheduler, 2).ready, 10);
    assert_eq!(counters(&scheduler, 2).waiting, 10);
    let blocks: u64 = (0..4).map(|task| counters(&scheduler, task).total).sum();
    assert_eq!(drain(&mut scheduler), blocks);
}

#[test]
fn one_block_that_a_million_wait_for_releases_them_little_by_little() {
    let whole = TaskPlan::new(
        "whole",
        roi(&[-2; 3], &[1004; 3]),
        roi(&[-2; 3], &[1004; 3]),
        roi(&[-2; 3], &[1004; 3]),
        Fit::Valid,
        options(0),
    );
    let mut scheduler = scheduler(vec![whole.unwrap(), cube("a", 100, 2)], &[edge(0, 1)]);
    let index = scheduler.acquire(TaskId(0)).unwrap();
    scheduler.release(BlockRef { task: TaskId(0), index }, true).unwrap();
    assert!(counters(&scheduler, 1).ready < 10_000, "{:?}", counters(&scheduler, 1));
    assert_eq!(drain(&mut scheduler), 1_000_000);
}

#[test]
fn a_hundred_million_blocks_resume_where_they_stopped() {
    let pipeline =
        || Arc::new(Pipeline::new(vec![cube("a", 464, 2), cube("b", 464, 2)], &[edge(0, 1)]).unwrap());
    let total = pipeline().tasks()[0].layout().block_count();
    let prior = |done: IndexSet| vec![Prior { done: Some(done.clone()), masked: None }, Prior::default()];
    let mut all = ManualScheduler::new(pipeline(), prior(IndexSet::full(total)));
    assert_eq!(all.task_state(TaskId(0)).counters().skipped, total);
    assert!(all.acquire(TaskId(0)).is_none() && all.acquire(TaskId(1)).is_some());
    let mut half = IndexSet::new(total);
    half.insert_range(0, total / 2);
    let mut half = ManualScheduler::new(pipeline(), prior(half));
    assert!(half.acquire(TaskId(0)).is_some() && half.acquire(TaskId(1)).is_some());
}

#[test]
fn a_release_that_cannot_be_is_refused() {
    let mut scheduler = scheduler(vec![row("a", (0, 40), (0, 10), (0, 10), Fit::Valid)], &[]);
    let block = BlockRef { task: TaskId(0), index: scheduler.acquire(TaskId(0)).unwrap() };
    scheduler.release(block, true).unwrap();
    let error = scheduler.release(block, true).unwrap_err();
    assert!(error.to_string().contains("not held"), "{error}");
    assert_eq!(counters(&scheduler, 0).completed, 1);
}

#[test]
fn a_preview_says_what_would_happen() {
    let tasks = vec![cube("a", 100, 2), row_of_three("b")];
    let pipeline = Pipeline::new(tasks, &[edge(0, 1)]).unwrap();
    let plan = preview(&pipeline);
    assert_eq!((plan[0].blocks, plan[0].levels, plan[0].largest_parallelism), (1_000_000, 8, 125_000));
    assert_eq!(plan[0].write_volume, 1_000_000_000);
    assert_eq!(plan[0].read_volume, 14 * 14 * 14 * 1_000_000);
    let mut manual = ManualScheduler::new(Arc::new(pipeline), Vec::new());
    let handed: Vec<u64> = (0..5).filter_map(|_| manual.acquire(TaskId(0))).collect();
    assert_eq!(plan[0].first_blocks, handed);
    assert_eq!(plan[1].warnings.len(), 2, "{:?}", plan[1].warnings);
}

/// Leaves a remainder and reads past what is written above it.
fn row_of_three(name: &str) -> TaskPlan {
    TaskPlan::new(
        name,
        roi(&[990, 0, 0], &[35, 10, 10]),
        roi(&[0; 3], &[10; 3]),
        roi(&[0; 3], &[10; 3]),
        Fit::Valid,
        options(0),
    )
    .unwrap()
}
