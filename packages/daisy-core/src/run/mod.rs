//! Where effects meet decisions: the server, its thread, and the serial driver. Asynchronous code lives here only.

mod config;
mod entry;
mod marking;
mod requests;
mod serial;

pub use config::{Listen, RunConfig};
pub use entry::{Run, RunEnd, WorkerTally};
pub use requests::{Note, Request, Told};
pub use serial::{SerialRun, SerialWork, Step};
