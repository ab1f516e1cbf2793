//! What the user wants, validated once; everything above relies on it.

mod block;
mod block_id;
mod pipeline;
mod resources;
mod task;

pub use block::{BlockLayout, Fit};
pub use pipeline::{Edge, Pipeline};
pub use resources::Resources;
pub use task::{RetryPolicy, TaskOptions, TaskPlan};
