//! A budget that tasks share: fair, never exceeded, and free as soon as nothing is left to do.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use daisy_core::geometry::Roi;
use daisy_core::ids::{BlockRef, TaskId, WorkerId};
use daisy_core::plan::{Edge, Fit, Pipeline, Resources, TaskOptions, TaskPlan};
use daisy_core::scheduler::{Action, Event, Outcome, Scheduler, Settings, WorkerExit};

const NOW: Duration = Duration::ZERO;

fn task(name: &str, blocks: i64, gpus: u64) -> TaskPlan {
    let (total, block) = (Roi::new(&[0], &[blocks * 10]).unwrap(), Roi::new(&[0], &[10]).unwrap());
    let requires = Resources::new([("gpu".to_owned(), gpus)]);
    let options = TaskOptions { max_workers: 4, requires, ..TaskOptions::default() };
    TaskPlan::new(name, total, block, block, Fit::Valid, options).unwrap()
}

/// A run whose workers do nothing until they are told to.
struct Run {
    scheduler: Scheduler,
    task_of: BTreeMap<WorkerId, TaskId>,
    grants: Vec<(WorkerId, BlockRef, u32)>,
    dismissed: Vec<WorkerId>,
}

impl Run {
    fn new(tasks: Vec<TaskPlan>, edges: &[Edge], gpus: u64) -> Self {
        let settings =
            Settings { resources: Resources::new([("gpu".to_owned(), gpus)]), ..Settings::default() };
        let pipeline = Arc::new(Pipeline::new(tasks, edges).unwrap());
        let mut run = Self {
            scheduler: Scheduler::new(pipeline, settings, Vec::new()).unwrap(),
            task_of: BTreeMap::new(),
            grants: Vec::new(),
            dismissed: Vec::new(),
        };
        let mut actions = Vec::new();
        run.scheduler.start(NOW, &mut actions);
        run.carry_out(actions);
        run
    }

    fn tell(&mut self, event: Event) {
        let mut actions = Vec::new();
        self.scheduler.handle(event, NOW, &mut actions);
        self.scheduler.check_invariants();
        self.carry_out(actions);
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Launch { worker, task } => {
                    self.task_of.insert(worker, task);
                    self.tell(Event::WorkerConnected { worker, task, capacity: 1, external: false });
                }
                Action::Grant { worker, block, attempt } => self.grants.push((worker, block, attempt)),
                Action::Dismiss { worker } => self.dismissed.push(worker),
                _ => {}
            }
        }
    }

    fn workers(&self, task: u32) -> usize {
        self.task_of.values().filter(|each| **each == TaskId(task)).count()
    }

    fn finish_one(&mut self, task: u32) {
        let place = self.grants.iter().position(|(_, block, _)| block.task == TaskId(task)).unwrap();
        let (worker, block, attempt) = self.grants.remove(place);
        let outcome = Outcome::Succeeded;
        self.tell(Event::Reported { worker, block, attempt, outcome, duration: Duration::from_secs(1) });
    }

    fn let_dismissed_exit(&mut self) {
        for worker in std::mem::take(&mut self.dismissed) {
            self.task_of.remove(&worker);
            let exit =
                WorkerExit { clean: true, outside: false, cause: "exit code 0".into(), log_tail: "".into() };
            self.tell(Event::WorkerExited { worker, exit });
        }
    }
}

#[test]
fn tasks_take_turns_with_the_budget() {
    let run = Run::new(vec![task("a", 20, 1), task("b", 20, 1)], &[], 2);
    assert_eq!((run.workers(0), run.workers(1)), (1, 1));
}

#[test]
fn what_a_finished_task_held_goes_to_the_next() {
    let mut run = Run::new(vec![task("a", 1, 1), task("b", 20, 1)], &[], 2);
    run.finish_one(0);
    assert_eq!(run.dismissed.len(), 1, "the worker of a task with no block left is released at once");
    run.let_dismissed_exit();
    assert_eq!((run.workers(0), run.workers(1)), (0, 2));
}

#[test]
fn an_idle_worker_does_not_starve_the_task_it_waits_for() {
    // Block 1 of `down` needs block 1 of `up`, whose worker needs what the idle worker of `down` holds.
    let edge = Edge { upstream: TaskId(0), downstream: TaskId(1) };
    let mut run = Run::new(vec![task("up", 3, 1), task("down", 3, 1)], &[edge], 1);
    let mut rounds = 0;
    while !run.scheduler.is_finished() {
        rounds += 1;
        assert!(rounds < 50, "nobody can go on");
        match run.grants.first().map(|(_, block, _)| block.task.0) {
            Some(task) => run.finish_one(task),
            None => run.let_dismissed_exit(),
        }
    }
    assert!(run.scheduler.report().has_succeeded());
}

#[test]
fn a_requirement_that_can_never_be_met_is_refused() {
    let pipeline = Arc::new(Pipeline::new(vec![task("a", 1, 3)], &[]).unwrap());
    let settings = Settings { resources: Resources::new([("gpu".to_owned(), 2)]), ..Settings::default() };
    let error = Scheduler::new(pipeline, settings, Vec::new()).unwrap_err().to_string();
    assert!(error.contains("gpu: 3") && error.contains("gpu: 2"), "{error}");
}
