//! What a run was like: who returned how many blocks, how long they took, when, and what they used.
//!
//! All of it is counted on the server, where every accepted return arrives, so it is the same whatever kind
//! of worker did the work. Memory is bounded, whatever the number of blocks. `docs/design/RUN_STATS.md` says
//! what each number means.

mod cells;
mod distribution;
mod lanes;
mod merge;
mod quantiles;
mod recorder;
mod slowest;
mod spans;
mod tally;
mod task_stats;
mod timeline;
mod trend;

pub use cells::{CellState, Cells};
pub use distribution::{Distribution, DistributionSummary};
pub use merge::{KnownWorker, WorkerStats, merge};
pub use recorder::{History, Recorder, Return, RunStats, Span, WorkerLane};
pub use slowest::Straggler;
pub use tally::{RunTally, Tally};
pub use task_stats::{MeasuredTotals, TaskStats};
pub use trend::Trend;
