//! Python bindings of daisy-core: they convert and delegate.

use pyo3::prelude::*;

mod block;
mod block_call;
mod block_iterator;
mod block_stats;
mod block_status;
mod client;
mod errors;
mod graph;
mod lifeline;
mod meter;
mod outcome;
mod pipeline_plan;
mod plan;
mod request;
mod roi;
mod run;
mod run_options;
mod scheduler;
mod serial;
mod task_graph;
mod task_plan;
mod task_state;
mod tracking;

#[pymodule]
mod _core {
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::block::Block;
    #[pymodule_export]
    use super::block_call::{refuse_unfinished, settle_status};
    #[pymodule_export]
    use super::block_iterator::BlockIterator;
    #[pymodule_export]
    use super::block_stats::BlockStats;
    #[pymodule_export]
    use super::client::{WorkerConnection, check_address};
    #[pymodule_export]
    use super::graph::DependencyGraph;
    #[pymodule_export]
    use super::lifeline::{end_with_parent, note_fork};
    #[pymodule_export]
    use super::meter::Meter;
    #[pymodule_export]
    use super::outcome::{IdIterator, IdSet, RunOutcome};
    #[pymodule_export]
    use super::pipeline_plan::PipelinePlan;
    #[pymodule_export]
    use super::plan::{TaskFacts, task_facts};
    #[pymodule_export]
    use super::request::Request;
    #[pymodule_export]
    use super::run::Run;
    #[pymodule_export]
    use super::run_options::RunOptions;
    #[pymodule_export]
    use super::scheduler::Scheduler;
    #[pymodule_export]
    use super::serial::SerialRun;
    #[pymodule_export]
    use super::task_graph::{BlockwiseDependencyGraph, DependencyIterator};
    #[pymodule_export]
    use super::task_plan::TaskPlan;
    #[pymodule_export]
    use super::task_state::TaskState;
    #[pymodule_export]
    use super::tracking::{
        TrackingStore, failed_block_indices, inspect_tracking, mask_of_boxes, reset_tracking,
    };
}
