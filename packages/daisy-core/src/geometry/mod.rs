//! Integer geometry: coordinates, regions of interest and grids, from 1 to 8 dimensions.
//!
//! Every bound is kept within ±[`MAX_EXTENT`], which is checked when a value is made, so that sums and
//! differences of two of them cannot overflow later.

mod coordinate;
mod grid;
mod roi;

pub use coordinate::{Coordinate, MAX_DIMS, MAX_EXTENT};
pub use grid::{Grid, GridBox, GridPositions, Position};
pub use roi::Roi;
