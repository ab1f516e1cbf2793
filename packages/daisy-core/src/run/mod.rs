//! Where effects meet decisions: the server, its thread, and the serial driver. Asynchronous code lives here only.

mod arriving;
mod board;
mod config;
mod connection;
mod driver;
mod entry;
mod files;
mod gate;
mod handshake;
mod inspect;
mod leaving;
mod listen;
mod marking;
mod outbox;
mod record;
mod requests;
mod serial;
mod server;
mod sessions;
mod stall;
mod stream;

pub use config::{Encryption, Listen, RunConfig};
pub use entry::{Run, RunEnd};
pub use inspect::{StoreFacts, inspect_store};
pub use requests::{Note, Request, Told};
pub use serial::{SerialRun, SerialWork, Step};
