//! Integer geometry: coordinates, regions of interest and grids, from 1 to 8 dimensions.
//!
//! A ROI's end fits in 64 bits, which is checked when it is made; a layout checks its blocks once, so that
//! the arithmetic on them later cannot overflow.

mod coordinate;
mod grid;
mod index_set;
mod roi;

pub use coordinate::{Coordinate, MAX_DIMS};
pub use grid::{Grid, GridBox, GridPositions, Position};
pub use index_set::{IndexSet, PAGE};
pub use roi::Roi;
