//! daisy-core: everything that decides.
//!
//! The floors, from the bottom; an upper one may use a lower one, never the reverse:
//!
//! 1. [`ids`], [`error`], [`measurement`]: newtypes, the one error type, what a block took.
//! 2. [`geometry`]: checked integer arithmetic on coordinates, ROIs and grids.
//! 3. [`plan`]: what the user wants, validated once.
//! 4. [`graph`]: who waits for whom; computed, never stored.
//! 5. [`scheduler`]: a pure state machine, `handle(event, now) -> actions`; [`marks`]: what is kept of its blocks.
//! 6. [`wire`]: frames, messages, the handshake, the worker's client; [`tracking`]: what is done, on disk;
//!    [`stats`]: what a run was like. None of them uses another.
//! 7. [`run`]: the server and the serial driver, where effects meet decisions.

pub mod error;
pub mod geometry;
pub mod graph;
pub mod ids;
pub mod marks;
pub mod measurement;
mod meter;
pub mod plan;
pub mod run;
pub mod scheduler;
pub mod stats;
pub mod tracking;
pub mod wire;

pub use error::{Error, ErrorKind, Result};
pub use measurement::Measurement;
pub use meter::Meter;
