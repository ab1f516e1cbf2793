//! The virtual clock, the workers and the wire between them and the scheduler.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use daisy_core::ids::{BlockRef, TaskId, WorkerId};
use daisy_core::plan::{Pipeline, Resources};
use daisy_core::scheduler::{Action, Event, Now, Outcome, Scheduler, Settings, TaskState, WorkerExit};

use crate::faults::Faults;
use crate::judge::Judge;
use crate::scenario::Scenario;

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

#[derive(Default)]
struct SimWorker {
    task: u32,
    held: VecDeque<(BlockRef, u32)>,
    /// It has connected once.
    came: bool,
    connected: bool,
    /// Whether it has asked for blocks.
    ready: bool,
    external: bool,
    /// Nobody tells of its end.
    detached: bool,
    draining: bool,
    dismissed: bool,
    /// Reports made while the connection was lost.
    unsent: Vec<Event>,
}

impl SimWorker {
    /// What the scheduler thinks that it holds.
    fn believed(&self) -> Vec<(BlockRef, u32)> {
        let unsent = self.unsent.iter().filter_map(|event| match event {
            Event::Reported { block, attempt, .. } => Some((*block, *attempt)),
            _ => None,
        });
        unsent.chain(self.held.iter().copied()).collect()
    }
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

    fn launch(&mut self, id: WorkerId, task: TaskId) {
        assert!(!self.has_ended, "a worker was asked for after the end");
        let known = self.workers.insert(id, SimWorker { task: task.0, ..SimWorker::default() });
        assert!(known.is_none(), "a worker id was used twice");
        if !self.chance(self.faults.never_connected) {
            self.later(2.0, Happening::Connects(id));
        } else if self.rng.bool() {
            let clean = self.rng.bool();
            self.later(2.0, Happening::Exits(id, clean));
        } // else it hangs, and is killed when its time is up
        if self.chance(self.faults.detached) {
            self.later(5.0, Happening::Detaches(id));
        }
    }

    /// What started the worker is done; the worker is not.
    fn detach(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if worker.came && !worker.connected {
            return self.end(id, Event::WorkerDetached { worker: id, exit: exit(true) });
        }
        worker.detached = true;
        self.tell(Event::WorkerDetached { worker: id, exit: exit(true) });
    }

    fn grant(&mut self, id: WorkerId, block: BlockRef, attempt: u32) {
        self.judge.granted(id, block, attempt);
        self.grants += 1;
        let worker = self.workers.get_mut(&id).expect("a grant goes to a worker that is there");
        assert!(
            worker.connected && worker.ready && !worker.draining && !worker.dismissed,
            "a grant to {id}, which takes none"
        );
        assert_eq!(worker.task, block.task.0);
        worker.held.push_back((block, attempt));
        assert!(worker.held.len() <= 16, "more than the capacity");
        if worker.held.len() == 1 {
            self.work(id);
        }
    }

    /// Begins the first block that the worker holds.
    fn work(&mut self, id: WorkerId) {
        let Some(&(block, attempt)) = self.workers[&id].held.front() else { return };
        let has_timeout = self.pipeline.task(block.task).options().retry.timeout.is_some();
        let short = self.rng.bool();
        if self.chance(self.faults.deaths) {
            self.later(3.0, Happening::Dies(id));
        } else if has_timeout && self.chance(self.faults.hangs) {
            // It never ends; the timeout does.
        } else {
            if self.chance(self.faults.cuts) {
                self.later(0.5, Happening::IsCut(id));
            }
            self.later(if short { 0.001 } else { 3.0 }, Happening::Finishes(id, block, attempt));
        }
    }

    fn dismiss(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.dismissed = true;
        self.later(0.1, Happening::Exits(id, true));
    }

    fn kill(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.remove(&id) else { return };
        if let Some((block, attempt)) = worker.held.front().copied()
            && self.chance(self.faults.late_reports)
        {
            self.later(5.0, Happening::ReportsLate(id, block, attempt));
        }
        // What was reclaimed is with the scheduler again; which attempt failed it says by itself.
        for (block, attempt) in worker.believed() {
            self.give_back(id, block, attempt);
        }
        if !worker.external && !worker.detached {
            self.workers.insert(id, SimWorker { task: worker.task, dismissed: true, ..SimWorker::default() });
            self.later(0.5, Happening::Exits(id, false));
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
            Happening::ExternalJoins(task) => {
                let id = self.scheduler.next_worker_id();
                let worker = SimWorker { task: task.0, external: true, ..SimWorker::default() };
                self.workers.insert(id, worker);
                self.connect(id);
            }
            Happening::Resizes(task, max_workers) => {
                self.tell(Event::MaxWorkersChanged { task, max_workers })
            }
            Happening::IsChecked(block) => {
                let done = is_one_of(!self.seed, block, 0.3);
                self.tell(Event::Checked { block, done });
            }
        }
    }

    fn connect(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| !worker.dismissed) else { return };
        (worker.came, worker.connected) = (true, true);
        worker.ready = self.rng.bool();
        let (task, external, ready) = (TaskId(worker.task), worker.external, worker.ready);
        // One that was started by hand may never ask for a block, and hold up nobody.
        let never_asks = external && self.rng.bool();
        if !ready && !never_asks {
            self.later(2.0, Happening::Asks(id));
        }
        self.tell(Event::WorkerConnected { worker: id, task, capacity: capacity(ready), external });
    }

    fn ask(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| !worker.dismissed) else { return };
        worker.ready = true;
        if worker.connected {
            self.tell(Event::WorkerReady { worker: id, capacity: 16 });
        }
    }

    fn finish(&mut self, id: WorkerId, block: BlockRef, attempt: u32) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if worker.held.front() != Some(&(block, attempt)) {
            return; // it was killed meanwhile
        }
        worker.held.pop_front();
        let bad = is_one_of(self.seed, block, self.faults.bad_blocks) || self.chance(self.faults.failures);
        let outcome =
            if bad { Outcome::Failed { error: "ValueError: bad".into() } } else { Outcome::Succeeded };
        let duration = Duration::from_micros(if block.index.is_multiple_of(3) { 10 } else { 500_000 });
        let report = Event::Reported { worker: id, block, attempt, outcome, duration };
        let worker = self.workers.get_mut(&id).expect("it was there");
        if worker.connected {
            self.tell(report);
        } else {
            worker.unsent.push(report);
        }
        if self.chance(self.faults.drains) {
            self.drain(id);
        }
        let Some(worker) = self.workers.get(&id) else { return };
        if worker.held.is_empty() && worker.draining {
            self.later(0.1, Happening::Exits(id, true));
        } else {
            self.work_if_idle(id);
        }
    }

    fn work_if_idle(&mut self, id: WorkerId) {
        let Some(&(block, attempt)) = self.workers.get(&id).and_then(|worker| worker.held.front()) else {
            return;
        };
        // A grant that came with the report has begun already.
        let has_begun = self.queue.iter().any(|Reverse((_, _, each))| match each {
            Happening::Finishes(worker, other, number) => (*worker, *other, *number) == (id, block, attempt),
            Happening::Dies(worker) => *worker == id,
            _ => false,
        });
        if !has_begun {
            self.work(id);
        }
    }

    fn drain(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| worker.connected) else { return };
        worker.draining = true;
        let blocks: Vec<BlockRef> =
            worker.held.drain(1.min(worker.held.len())..).map(|(block, _)| block).collect();
        for block in &blocks {
            self.judge.given_back(*block);
        }
        self.tell(Event::WorkerDraining { worker: id });
        self.tell(Event::Returned { worker: id, blocks });
    }

    fn cut(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| worker.connected) else { return };
        worker.connected = false;
        self.tell(Event::WorkerDisconnected { worker: id });
        if self.rng.u8(..) < 200 {
            self.later(12.0, Happening::ReturnsToServer(id));
        } else {
            self.later(20.0, Happening::Exits(id, false));
        }
    }

    fn reconnect(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| !worker.dismissed) else { return };
        worker.connected = true;
        worker.draining = false;
        let (task, external, ready) = (TaskId(worker.task), worker.external, worker.ready);
        let unsent = std::mem::take(&mut worker.unsent);
        self.tell(Event::WorkerConnected { worker: id, task, capacity: capacity(ready), external });
        for report in unsent {
            self.tell(report);
        }
    }

    fn die(&mut self, id: WorkerId, clean: bool) {
        if self.workers.get(&id).is_some_and(|worker| worker.detached) {
            return self.vanish(id, clean);
        }
        self.end(id, Event::WorkerExited { worker: id, exit: exit(clean) });
    }

    /// A worker is no more, and this event says so.
    fn end(&mut self, id: WorkerId, event: Event) {
        let Some(worker) = self.workers.remove(&id) else { return };
        // The first one loses an attempt, which the scheduler says by itself.
        for (block, attempt) in worker.believed().into_iter().skip(1) {
            self.give_back(id, block, attempt);
        }
        self.tell(event);
    }

    /// A worker ends of which only the connection is known.
    fn vanish(&mut self, id: WorkerId, clean: bool) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let (was_connected, is_idle) = (worker.connected, worker.believed().is_empty());
        worker.connected = false;
        worker.dismissed = true; // it comes back never more
        if was_connected {
            if clean && is_idle {
                self.tell(Event::WorkerDraining { worker: id });
            }
            self.tell(Event::WorkerDisconnected { worker: id });
        }
    }

    fn give_back(&mut self, id: WorkerId, block: BlockRef, attempt: u32) {
        if self.judge.is_leased(block, id, attempt) {
            self.judge.given_back(block);
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

/// What a worker says that it can hold when it connects.
fn capacity(ready: bool) -> u32 {
    if ready { 16 } else { 0 }
}
