//! The virtual clock, and the wire between the workers and the scheduler.

mod workers;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use daisy_core::ids::{BlockRef, TaskId, WorkerId};
use daisy_core::plan::{Pipeline, Resources};
use daisy_core::scheduler::{Action, Event, Now, Outcome, Scheduler, Settings, TaskState, WorkerExit};

use crate::faults::Faults;
use crate::judge::Judge;
use crate::scenario::Scenario;

use workers::SimWorker;

thread_local! {
    static HISTORY: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Runs something and gives the events and actions of the worlds in it.
pub(crate) fn record(run: impl FnOnce()) -> Vec<String> {
    HISTORY.with_borrow_mut(|history| *history = Some(Vec::new()));
    run();
    HISTORY.with_borrow_mut(Option::take).unwrap()
}

fn note(now: Now, text: impl FnOnce() -> String) {
    HISTORY.with_borrow_mut(|history| {
        if let Some(history) = history {
            history.push(format!("{:10.3} {}", now.as_secs_f64(), text()));
        }
    });
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Connects(WorkerId),
    Asks(WorkerId),
    Finishes(WorkerId, BlockRef, u32),
    Dies(WorkerId),
    IsCut(WorkerId),
    ReturnsToServer(WorkerId),
    Exits(WorkerId, bool),
    Detaches(WorkerId),
    ReportsLate(WorkerId, BlockRef, u32),
    ExternalJoins(TaskId),
    IsChecked(BlockRef),
    Resizes(TaskId, u32),
}

pub(crate) struct World {
    pub(crate) judge: Judge,
    scheduler: Scheduler,
    pipeline: Arc<Pipeline>,
    faults: Faults,
    rng: fastrand::Rng,
    seed: u64,
    now: Now,
    queue: BinaryHeap<Reverse<(Now, u64, Happening)>>,
    sequence: u64,
    workers: BTreeMap<WorkerId, SimWorker>,
    has_ended: bool,
    large: bool,
    grants: u64,
}

impl World {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let pipeline = scenario.pipeline();
        let prior = scenario.prior(&pipeline);
        let settings = Settings {
            resources: Resources::new([("gpu".to_owned(), 3)]),
            reconnect_grace: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(30),
        };
        let judge = Judge::new(Arc::clone(&pipeline), &prior);
        let mut world = Self {
            judge,
            scheduler: Scheduler::new(Arc::clone(&pipeline), settings, prior).unwrap(),
            pipeline,
            faults: scenario.faults.clone(),
            rng: fastrand::Rng::with_seed(scenario.seed ^ (scenario.timing << 32) ^ 0x3017),
            seed: scenario.seed,
            now: Now::ZERO,
            queue: BinaryHeap::new(),
            sequence: 0,
            workers: BTreeMap::new(),
            has_ended: false,
            large: scenario.large,
            grants: 0,
        };
        if scenario.elastic {
            for task in world.pipeline.task_ids().collect::<Vec<_>>() {
                world.later(10.0, Happening::Resizes(task, 0));
                let more = 1 + world.rng.u32(..scenario.most_workers);
                world.later(20.0, Happening::Resizes(task, more));
                world.queue.push(Reverse((Duration::from_secs(25), u64::MAX, Happening::Resizes(task, 1))));
            }
        }
        if scenario.externals {
            for task in world.pipeline.task_ids().collect::<Vec<_>>() {
                world.later(5.0, Happening::ExternalJoins(task));
            }
        }
        world
    }

    pub(crate) fn run(&mut self) {
        let mut actions = Vec::new();
        self.scheduler.start(self.now, &mut actions);
        self.carry_out(actions);
        let blocks: u64 = self.pipeline.tasks().iter().map(|task| task.layout().block_count()).sum();
        let patience = 2_000 + 400 * blocks;
        for step in 0.. {
            assert!(step < patience, "the run does not end");
            if self.has_ended && self.queue.is_empty() {
                break;
            }
            let next = self.queue.peek().map(|Reverse((when, _, _))| *when);
            let deadline = self.scheduler.next_deadline();
            match (next, deadline) {
                (None, None) => break,
                (Some(next), Some(deadline)) if deadline <= next => self.tick(deadline),
                (None, Some(deadline)) => self.tick(deadline),
                (Some(_), _) => {
                    let Some(Reverse((when, _, happening))) = self.queue.pop() else { break };
                    self.now = self.now.max(when);
                    self.happen(happening);
                }
            }
            if !self.large || step % 5_000 == 0 {
                self.scheduler.check_invariants();
            }
        }
        assert!(
            self.has_ended && self.scheduler.is_finished(),
            "nothing happens any more, and the run has not ended: {:?}",
            self.scheduler.report()
        );
        self.scheduler.check_invariants();
        self.judge.verdict(&self.scheduler);
    }

    fn later(&mut self, most_seconds: f64, happening: Happening) {
        self.sequence += 1;
        let when = self.now + Duration::from_secs_f64(self.rng.f64() * most_seconds);
        self.queue.push(Reverse((when, self.sequence, happening)));
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.rng.f64() < probability
    }

    fn tick(&mut self, deadline: Now) {
        self.now = self.now.max(deadline);
        self.tell(Event::Ticked);
    }

    fn tell(&mut self, event: Event) {
        if self.chance(self.faults.noise) {
            let noise = self.nonsense();
            self.deliver(noise);
        }
        self.deliver(event);
    }

    fn deliver(&mut self, event: Event) {
        note(self.now, || format!("{event:?}"));
        let mut actions = Vec::new();
        self.scheduler.handle(event, self.now, &mut actions);
        self.carry_out(actions);
    }

    /// Something that cannot be: it must change nothing.
    fn nonsense(&mut self) -> Event {
        let worker = WorkerId(self.rng.u64(..20));
        let task = TaskId(self.rng.u32(..self.pipeline.tasks().len() as u32 + 1));
        let block = BlockRef { task, index: self.rng.u64(..200) };
        let attempt = self.rng.u32(..4);
        let unknown = WorkerId(1 << 40);
        match self.rng.u8(..7) {
            0 if !self.judge.is_leased(block, worker, attempt) => Event::Reported {
                worker,
                block,
                attempt,
                outcome: Outcome::Succeeded,
                duration: Duration::ZERO,
            },
            1 => Event::WorkerConnected { worker: unknown, task, capacity: 7, external: self.rng.bool() },
            2 => Event::WorkerExited { worker: unknown, exit: exit(self.rng.bool()) },
            3 => Event::Checked { block: BlockRef { task, index: u64::MAX - 1 }, done: true },
            4 => Event::Returned { worker: unknown, blocks: vec![block] },
            5 => Event::WorkerDetached { worker: unknown, exit: exit(true) },
            _ => Event::WorkerDisconnected { worker: unknown },
        }
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            note(self.now, || format!("    -> {action:?}"));
            match action {
                Action::Launch { worker, task } => self.launch(worker, task),
                Action::Grant { worker, block, attempt } => self.grant(worker, block, attempt),
                Action::Dismiss { worker } => self.dismiss(worker),
                Action::Kill { worker, .. } => self.kill(worker),
                Action::Check { block } => self.later(1.0, Happening::IsChecked(block)),
                Action::Settle { block, end } => self.judge.settled(block, end),
                Action::NoteFailure { block, attempt, .. } => self.judge.attempt_failed(block, attempt),
                Action::Refuse { .. } => {}
                Action::EndTask { task } => {
                    if let TaskState::Abandoned { .. } = self.scheduler.task_state(task) {
                        self.judge.abandoned(task);
                    }
                }
                Action::EndRun => self.has_ended = true,
            }
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Connects(id) => self.connect(id),
            Happening::Asks(id) => self.ask(id),
            Happening::Finishes(id, block, attempt) => self.finish(id, block, attempt),
            Happening::Dies(id) => self.die(id, false),
            Happening::IsCut(id) => self.cut(id),
            Happening::ReturnsToServer(id) => self.reconnect(id),
            Happening::Exits(id, clean) => self.die(id, clean),
            Happening::Detaches(id) => self.detach(id),
            Happening::ReportsLate(worker, block, attempt) => {
                // Only if nobody holds it under this very number: then it would be no late report.
                if !self.judge.is_leased(block, worker, attempt) {
                    let outcome = Outcome::Succeeded;
                    self.tell(Event::Reported { worker, block, attempt, outcome, duration: Duration::ZERO });
                }
            }
            Happening::ExternalJoins(task) => self.join(task),
            Happening::Resizes(task, max_workers) => {
                self.tell(Event::MaxWorkersChanged { task, max_workers })
            }
            Happening::IsChecked(block) => {
                let done = is_one_of(!self.seed, block, 0.3);
                self.tell(Event::Checked { block, done });
            }
        }
    }
}

fn exit(clean: bool) -> WorkerExit {
    let cause = if clean { "exit code 0" } else { "SIGKILL" };
    WorkerExit { clean, outside: false, cause: cause.into(), log_tail: "".into() }
}

/// Whether a block is one of a share of all, whoever asks and whenever.
fn is_one_of(seed: u64, block: BlockRef, share: f64) -> bool {
    let key = seed ^ block.index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(block.task.0) << 48;
    fastrand::Rng::with_seed(key).f64() < share
}
