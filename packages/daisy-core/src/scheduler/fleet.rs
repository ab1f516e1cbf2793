//! The workers of each task: how many there are, may be and should be.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::event::Now;
use super::lease::Pace;
use super::worker::Phase;
use crate::ids::{TaskId, WorkerId};
use crate::plan::{Pipeline, Resources};

/// Workers in a row that never connected, after which no more are asked for.
pub(super) const MOST_NEVER_CONNECTED: u32 = 3;
/// First pause after a death; doubled for each further one in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The workers of one task.
#[derive(Debug)]
pub(super) struct TaskFleet {
    pub(super) max_workers: u32,
    /// Workers that may still process blocks.
    pub(super) alive: u32,
    /// Those of them that were started by us.
    pub(super) launched: u32,
    /// Those of them that were started by hand and have asked for nothing: perhaps they never will.
    pub(super) silent: u32,
    /// Workers that can take a block, now or soon.
    pub(super) available: u32,
    /// Workers that hold nothing, in the order in which they became idle; checked when taken.
    pub(super) line: VecDeque<WorkerId>,
    /// Deaths in a row with no block of the task completed between.
    pub(super) deaths_in_row: u32,
    /// Workers in a row that never connected.
    pub(super) never_connected_in_row: u32,
    /// No worker is asked for before this.
    pub(super) pause_until: Now,
    /// How long blocks take.
    pub(super) pace: Pace,
    pub(super) first_error: Option<Arc<str>>,
    pub(super) last_error: Option<Arc<str>>,
}

impl TaskFleet {
    pub(super) fn new(max_workers: u32) -> Self {
        Self {
            max_workers,
            alive: 0,
            launched: 0,
            silent: 0,
            available: 0,
            line: VecDeque::new(),
            deaths_in_row: 0,
            never_connected_in_row: 0,
            pause_until: Now::ZERO,
            pace: Pace::default(),
            first_error: None,
            last_error: None,
        }
    }

    /// Notes that a worker ended badly, and how long to wait before the next.
    pub(super) fn note_death(&mut self, cause: &Arc<str>, now: Now) {
        self.deaths_in_row += 1;
        self.pace.note_death();
        self.note_error(cause);
        let doublings = (self.deaths_in_row - 1).min(20);
        // The first replacement comes at once: one lost worker is nothing unusual.
        if doublings > 0 {
            self.pause_until = now + (FIRST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE);
        }
    }

    /// Keeps the counts right when a worker goes from one phase to another.
    pub(super) const fn count_phase(&mut self, from: Option<Phase>, to: Phase, external: bool) {
        if let Some(from) = from {
            self.alive -= from.is_alive() as u32;
            self.launched -= (from.is_alive() && !external) as u32;
            self.silent -= (from.is_silent() && external) as u32;
            self.available -= from.is_available() as u32;
        }
        self.alive += to.is_alive() as u32;
        self.launched += (to.is_alive() && !external) as u32;
        self.silent += (to.is_silent() && external) as u32;
        self.available += to.is_available() as u32;
    }

    /// Workers of which it can be expected that they will process blocks.
    #[inline]
    pub(super) const fn counted_on(&self) -> u32 {
        self.alive - self.silent
    }

    /// Whether there are more workers than there may be.
    #[inline]
    pub(super) const fn is_too_large(&self) -> bool {
        self.launched > self.max_workers
    }

    pub(super) fn note_error(&mut self, cause: &Arc<str>) {
        self.first_error.get_or_insert_with(|| Arc::clone(cause));
        self.last_error = Some(Arc::clone(cause));
    }

    /// Whether no further worker is asked for.
    pub(super) const fn is_stopped(&self, max_restarts: u32) -> bool {
        self.deaths_in_row > max_restarts || self.never_connected_in_row >= MOST_NEVER_CONNECTED
    }
}

/// The workers of all tasks and the budget that they share.
#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) tasks: Vec<TaskFleet>,
    budget: Resources,
    used: Resources,
    /// Tasks that want a worker and wait for the budget, downstream ones first.
    waiting: std::collections::BTreeSet<(std::cmp::Reverse<u32>, TaskId)>,
    /// Place of each task in the order of flow.
    rank: Vec<u32>,
}

impl Fleet {
    pub(super) fn new(pipeline: &Pipeline, budget: Resources) -> Self {
        let mut rank = vec![0; pipeline.tasks().len()];
        for (place, task) in pipeline.order().iter().enumerate() {
            rank[task.index()] = place as u32;
        }
        let tasks = pipeline.tasks().iter().map(|task| TaskFleet::new(task.options().max_workers)).collect();
        Self { tasks, budget, used: Resources::default(), waiting: std::collections::BTreeSet::new(), rank }
    }

    #[inline]
    pub(super) fn task(&self, id: TaskId) -> &TaskFleet {
        &self.tasks[id.index()]
    }

    #[inline]
    pub(super) fn task_mut(&mut self, id: TaskId) -> &mut TaskFleet {
        &mut self.tasks[id.index()]
    }

    /// Takes what one worker needs from the budget, or puts the task on the waiting list.
    pub(super) fn reserve(&mut self, id: TaskId, requires: &Resources) -> bool {
        let key = (std::cmp::Reverse(self.rank[id.index()]), id);
        if requires.is_empty() || self.budget.has_left(&self.used, requires) {
            self.used.add(requires);
            self.waiting.remove(&key);
            true
        } else {
            self.waiting.insert(key);
            false
        }
    }

    /// Gives back what one worker had.
    pub(super) fn release(&mut self, requires: &Resources) {
        self.used.subtract(requires);
    }

    /// Tasks that wait for the budget, downstream ones first.
    pub(super) fn waiting(&self) -> Vec<TaskId> {
        self.waiting.iter().map(|(_, id)| *id).collect()
    }

    /// Whether a task waits for the budget.
    pub(super) fn is_anyone_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes a task off the waiting list.
    pub(super) fn stop_waiting(&mut self, id: TaskId) {
        self.waiting.remove(&(std::cmp::Reverse(self.rank[id.index()]), id));
    }
}
