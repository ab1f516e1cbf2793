//! How simulated workers live: they connect, ask, work, lose their connection, come back, die.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use daisy_core::ids::{BlockRef, TaskId, WorkerId};
use daisy_core::scheduler::{Event, Outcome};

use super::{Happening, World, exit, is_one_of};

#[derive(Default)]
pub(super) struct SimWorker {
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

impl World {
    pub(super) fn launch(&mut self, id: WorkerId, task: TaskId) {
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

    /// One that was started by hand.
    pub(super) fn join(&mut self, task: TaskId) {
        let id = self.scheduler.next_worker_id();
        let worker = SimWorker { task: task.0, external: true, ..SimWorker::default() };
        self.workers.insert(id, worker);
        self.connect(id);
    }

    pub(super) fn connect(&mut self, id: WorkerId) {
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

    pub(super) fn ask(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| !worker.dismissed) else { return };
        worker.ready = true;
        if worker.connected {
            self.tell(Event::WorkerReady { worker: id, capacity: 16 });
        }
    }

    pub(super) fn grant(&mut self, id: WorkerId, block: BlockRef, attempt: u32) {
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

    pub(super) fn finish(&mut self, id: WorkerId, block: BlockRef, attempt: u32) {
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

    pub(super) fn cut(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| worker.connected) else { return };
        worker.connected = false;
        self.tell(Event::WorkerDisconnected { worker: id });
        if self.rng.u8(..) < 200 {
            self.later(12.0, Happening::ReturnsToServer(id));
        } else {
            self.later(20.0, Happening::Exits(id, false));
        }
    }

    pub(super) fn reconnect(&mut self, id: WorkerId) {
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

    /// What started the worker is done; the worker is not.
    pub(super) fn detach(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if worker.came && !worker.connected {
            return self.end(id, Event::WorkerDetached { worker: id, exit: exit(true) });
        }
        worker.detached = true;
        self.tell(Event::WorkerDetached { worker: id, exit: exit(true) });
    }

    pub(super) fn dismiss(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.dismissed = true;
        self.later(0.1, Happening::Exits(id, true));
    }

    pub(super) fn kill(&mut self, id: WorkerId) {
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

    pub(super) fn die(&mut self, id: WorkerId, clean: bool) {
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

/// What a worker says that it can hold when it connects.
fn capacity(ready: bool) -> u32 {
    if ready { 16 } else { 0 }
}
