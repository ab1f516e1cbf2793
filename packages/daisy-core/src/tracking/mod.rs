//! The durable record of a task: which blocks are done, which failed, and what they took.
//!
//! A store is a Zarr v3 group that any zarr library can read; `docs/design/TRACKING_STORE.md` describes it.
//! It is opened by the driver alone, under a lock, and written with plain writes of whole cells: whatever
//! process is killed at whatever moment, a mark that is there is true.

mod array;
mod cache;
mod chunk_files;
mod chunks;
mod clock;
mod contents;
mod element;
mod files;
mod found;
mod holder;
mod identity;
mod lock;
mod mask;
mod measured;
mod metadata;
mod reset;
mod scan;
mod sink;
mod store;
mod writer;

pub use contents::Contents;
pub use holder::Holder;
pub use mask::{mask_boxes, mask_indices};
pub use reset::reset;
pub use sink::TrackingSink;
pub use store::{ReadStore, Store, StoreOptions};
