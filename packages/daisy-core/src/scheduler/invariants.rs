//! What must hold after every event.

use super::worker::Phase;
use super::{Scheduler, TaskState};
use crate::ids::TaskId;

impl Scheduler {
    /// Checks that counts, sets and workers agree. Called after every event in debug builds and in tests.
    ///
    /// # Panics
    /// If they do not: that is a fault of daisy itself.
    pub fn check_invariants(&self) {
        for id in self.frontier.pipeline().task_ids() {
            self.check_blocks(id);
            self.check_fleet(id);
        }
    }

    fn check_blocks(&self, id: TaskId) {
        let task = self.frontier.task(id);
        let counters = task.state.counters();
        assert!(counters.is_conserved(), "{id}: counts do not add up: {counters:?}");
        assert_eq!(counters.failed, task.failed.count(), "{id}: failed");
        assert_eq!(counters.orphaned, task.orphaned.count(), "{id}: orphaned");
        assert_eq!(
            task.settled.count(),
            counters.completed + counters.skipped + counters.failed,
            "{id}: settled"
        );
        if let TaskState::Running(_) = task.state {
            let asked = task.checks.as_ref().map_or(0, |checks| checks.asked() + checks.cleared()) as u64;
            assert_eq!(counters.ready, task.fresh() + task.retries.len() as u64 + asked, "{id}: ready");
        } else {
            assert_eq!(counters.remaining(), 0, "{id}: ended with blocks left");
        }
    }

    fn check_fleet(&self, id: TaskId) {
        let theirs = || self.workers.values().filter(|worker| worker.task == id);
        let held: usize = theirs().map(|worker| worker.leases.len()).sum();
        let counters = self.frontier.task(id).state.counters();
        assert_eq!(held as u64, counters.leased, "{id}: leases");
        let fleet = self.fleet.task(id);
        assert_eq!(
            theirs().filter(|worker| worker.phase.is_alive()).count(),
            fleet.alive as usize,
            "{id}: alive"
        );
        let launched = theirs().filter(|worker| worker.phase.is_alive() && !worker.external).count();
        assert_eq!(launched, fleet.launched as usize, "{id}: launched");
        let silent = theirs().filter(|worker| worker.phase.is_silent() && worker.external).count();
        assert_eq!(silent, fleet.silent as usize, "{id}: silent");
        assert_eq!(
            theirs().filter(|worker| worker.phase.is_available()).count(),
            fleet.available as usize,
            "{id}: available"
        );
        for worker in theirs().filter(|worker| matches!(worker.phase, Phase::Gone | Phase::Dismissed)) {
            assert!(worker.leases.is_empty(), "{id}: a worker that is gone holds blocks");
        }
        let budget = &self.settings.resources;
        for (name, amount) in budget.iter() {
            let used: u64 = self
                .workers
                .values()
                .filter(|worker| !worker.external)
                .map(|worker| self.frontier.pipeline().task(worker.task).options().requires.amount(name))
                .sum();
            assert!(used <= amount, "more {name} in use than there is");
        }
    }
}
