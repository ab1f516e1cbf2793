//! Decisions only: a pure state machine.
//!
//! `scheduler.handle(event, now, &mut actions)`. No clock, no socket, no file, no thread, no randomness:
//! serial mode, the TCP server, the tests and the simulator drive the same object.

mod action;
mod event;

pub use action::{Action, BlockEnd, KillReason, Refusal};
pub use event::{Event, Now, Outcome, WorkerExit};
