//! A region of interest: an axis-aligned, half-open box.

use std::fmt;

use super::Coordinate;
use crate::error::{Error, ErrorKind, Result};

/// Axis-aligned box with an inclusive `begin` and an exclusive `end`, in world units.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Roi {
    begin: Coordinate,
    shape: Coordinate,
}

impl Roi {
    /// The box from `begin`, `shape` long on each axis.
    ///
    /// # Errors
    /// `InvalidArgument` for differing ranks or a negative size, `Overflow` if the end would not fit.
    ///
    /// ```
    /// use daisy_core::geometry::Roi;
    /// let roi = Roi::new(&[2, 0], &[3, 5]).unwrap();
    /// assert_eq!(&*roi.end(), &[5, 5]);
    /// assert!(Roi::new(&[0], &[-1]).is_err());
    /// ```
    pub fn new(begin: &[i64], shape: &[i64]) -> Result<Self> {
        if begin.len() != shape.len() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "begin and shape of a ROI have different ranks",
            )
            .with_context("begin", begin.len())
            .with_context("shape", shape.len()));
        }
        let (begin, shape) = (Coordinate::new(begin)?, Coordinate::new(shape)?);
        if shape.iter().any(|size| *size < 0) {
            return Err(Error::new(ErrorKind::InvalidArgument, "a ROI has a negative size")
                .with_context("got", shape)
                .with_context("expected", "sizes of at least 0"));
        }
        if begin.iter().zip(shape.iter()).any(|(begin, size)| begin.checked_add(*size).is_none()) {
            return Err(Error::new(ErrorKind::Overflow, "the end of a ROI would not fit in 64 bits")
                .with_context("begin", begin)
                .with_context("shape", shape)
                .with_context("expected", "begin + shape of at most 2**63 - 1"));
        }
        Ok(Self { begin, shape })
    }

    /// The box between two corners; for bounds already known to be ordered and in range.
    pub(crate) fn between(begin: Coordinate, end: Coordinate) -> Self {
        let shape = Coordinate::from_fn(begin.dims(), |axis| (end[axis] - begin[axis]).max(0));
        Self { begin, shape }
    }

    /// First corner, inclusive.
    #[must_use]
    pub const fn begin(&self) -> Coordinate {
        self.begin
    }

    /// Size per axis.
    #[must_use]
    pub const fn shape(&self) -> Coordinate {
        self.shape
    }

    /// Last corner, exclusive.
    #[must_use]
    pub fn end(&self) -> Coordinate {
        Coordinate::from_fn(self.dims(), |axis| self.begin[axis] + self.shape[axis])
    }

    /// Number of axes.
    #[must_use]
    pub const fn dims(&self) -> usize {
        self.begin.dims()
    }

    /// Whether the box holds no point.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Whether every point of `other` is in this box.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let (end, other_end) = (self.end(), other.end());
        (0..self.dims()).all(|axis| self.begin[axis] <= other.begin[axis] && other_end[axis] <= end[axis])
    }

    /// Whether the boxes share a point.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let (end, other_end) = (self.end(), other.end());
        !self.is_empty()
            && !other.is_empty()
            && (0..self.dims())
                .all(|axis| self.begin[axis] < other_end[axis] && other.begin[axis] < end[axis])
    }
}

impl fmt::Display for Roi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        let end = self.end();
        for axis in 0..self.dims() {
            write!(f, "{}{}:{}", if axis == 0 { "" } else { ", " }, self.begin[axis], end[axis])?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Roi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
