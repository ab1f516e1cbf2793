//! What others may look at while the run goes on.

use std::sync::{Mutex, PoisonError};

use crate::scheduler::{Scheduler, TaskState, WorkerView};

/// The last published state of a run; written by the server's thread, read by any.
#[derive(Debug, Default)]
pub(super) struct Board {
    shown: Mutex<(Vec<TaskState>, Vec<WorkerView>)>,
}

impl Board {
    /// Shows the present state.
    pub(super) fn publish(&self, scheduler: &Scheduler) {
        let tasks = scheduler.pipeline().task_ids();
        let states = tasks.map(|task| scheduler.task_state(task).clone()).collect();
        let workers = scheduler.workers().collect();
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = (states, workers);
    }

    pub(super) fn states(&self) -> Vec<TaskState> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    pub(super) fn workers(&self) -> Vec<WorkerView> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}
