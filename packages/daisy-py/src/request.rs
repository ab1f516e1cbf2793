//! What the server asks of the Python side.

use daisy_core::run::{Note, Request as CoreRequest};
use daisy_core::scheduler::{KillReason, Refusal};
use pyo3::prelude::*;

use crate::block::Block;
use crate::block_status;
use crate::pipeline_plan::PipelinePlan;

/// Something to do; tasks are positions in the plan.
#[pyclass(name = "Request", module = "daisy._core", frozen)]
pub(crate) enum Request {
    /// Start these workers.
    Launch {
        /// Position of the task.
        task: u32,
        /// Ids that they must register with.
        workers: Vec<u64>,
    },
    /// End the process of a worker.
    Kill {
        /// Which one.
        worker: u64,
        /// Why.
        reason: String,
    },
    /// Ask `check_function` about a block.
    Check {
        /// Position of the task.
        task: u32,
        /// Index of the block.
        index: u64,
        /// The block.
        block: Py<Block>,
    },
    /// An attempt failed.
    BlockFailed {
        /// Position of the task.
        task: u32,
        /// Public number of the block.
        number: u64,
        /// Which attempt, from 1.
        attempt: u32,
        /// Who had it.
        worker: u64,
        /// The block.
        block: Py<Block>,
        /// Traceback or cause.
        error: String,
    },
    /// Something to log.
    Note {
        /// How grave: `debug`, `info` or `warning`.
        level: String,
        /// The text.
        text: String,
    },
    /// A task has ended.
    TaskEnded {
        /// Position of the task.
        task: u32,
    },
    /// The run has ended; nothing follows.
    Ended {},
}

impl Request {
    pub(crate) fn of(py: Python<'_>, request: CoreRequest, plan: &PipelinePlan) -> PyResult<Self> {
        Ok(match request {
            CoreRequest::Launch { task, workers } => {
                Self::Launch { task: task.0, workers: workers.iter().map(|worker| worker.0).collect() }
            }
            CoreRequest::Kill { worker, reason } => {
                Self::Kill { worker: worker.0, reason: reason_text(reason).to_owned() }
            }
            CoreRequest::Check { block } => Self::Check {
                task: block.task.0,
                index: block.index,
                block: Py::new(py, Block::of(plan.place(block.task), block.index, block_status::CREATED))?,
            },
            CoreRequest::Note(note) => Self::of_note(py, note, plan)?,
            CoreRequest::TaskEnded(task) => Self::TaskEnded { task: task.0 },
            CoreRequest::Ended => Self::Ended {},
        })
    }

    pub(crate) fn of_note(py: Python<'_>, note: Note, plan: &PipelinePlan) -> PyResult<Self> {
        let (level, text) = match note {
            Note::BlockFailed { block, attempt, worker, error } => {
                let place = plan.place(block.task);
                return Ok(Self::BlockFailed {
                    task: block.task.0,
                    number: place.layout.block_id(block.index),
                    attempt,
                    worker: worker.0,
                    block: Py::new(py, Block::of(place, block.index, block_status::FAILED))?,
                    error: error.to_string(),
                });
            }
            Note::ReportRefused { worker, block, reason } => {
                let name = &plan.place(block.task).name;
                let number = plan.place(block.task).layout.block_id(block.index);
                let why = refusal_text(reason);
                (
                    "warning",
                    format!("a report of {worker} on block {number} of task {name:?} was refused: {why}"),
                )
            }
            Note::PeerRefused { peer, reason } => ("info", format!("{peer} was turned away: {reason}")),
            Note::Stalled { report } => ("warning", report),
            Note::Lost { count } => ("info", format!("{count} notes were left out: there were too many")),
        };
        Ok(Self::Note { level: level.to_owned(), text })
    }
}

const fn reason_text(reason: KillReason) -> &'static str {
    match reason {
        KillReason::Timeout => "timeout",
        KillReason::NeverConnected => "never_connected",
        KillReason::ConnectionLost => "connection_lost",
        KillReason::Unneeded => "unneeded",
        KillReason::Cancelled => "cancelled",
    }
}

const fn refusal_text(reason: Refusal) -> &'static str {
    match reason {
        Refusal::NotHeld => "it does not hold this block",
        Refusal::OldAttempt => "it is of an old attempt",
        Refusal::UnknownWorker => "the worker is not known, or was given up",
    }
}
