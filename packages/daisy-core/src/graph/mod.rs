//! Who waits for whom; computed, never stored.

mod across;
mod levels;
mod preview;
mod within;

pub use across::{covered, readers, readers_of_box, writers};
pub use levels::Levels;
pub use preview::{TaskPreview, preview};
pub use within::Within;
