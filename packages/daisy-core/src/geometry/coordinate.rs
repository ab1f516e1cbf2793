//! A point with one integer per axis.

use std::fmt;
use std::ops::Deref;

use crate::error::{Error, ErrorKind, Result};

/// Largest number of axes.
pub const MAX_DIMS: usize = 8;

/// n integers, one per axis, n from 1 to [`MAX_DIMS`]. Dereferences to a slice.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Coordinate {
    dims: u8,
    values: [i64; MAX_DIMS],
}

impl Coordinate {
    /// A coordinate with these values.
    ///
    /// # Errors
    /// `InvalidArgument` unless there are 1 to 8 values.
    ///
    /// ```
    /// use daisy_core::geometry::Coordinate;
    /// assert_eq!(Coordinate::new(&[3, -4]).unwrap()[1], -4);
    /// assert!(Coordinate::new(&[]).is_err());
    /// ```
    pub fn new(values: &[i64]) -> Result<Self> {
        if values.is_empty() || values.len() > MAX_DIMS {
            return Err(Error::new(ErrorKind::InvalidArgument, "unsupported number of dimensions")
                .with_context("got", values.len())
                .with_context("expected", format!("1 to {MAX_DIMS}")));
        }
        let mut all = [0; MAX_DIMS];
        all[..values.len()].copy_from_slice(values);
        Ok(Self { dims: values.len() as u8, values: all })
    }

    /// The coordinate whose axis `a` is `f(a)`; for values already known to be in bounds.
    pub(crate) fn from_fn(dims: usize, f: impl Fn(usize) -> i64) -> Self {
        let mut values = [0; MAX_DIMS];
        for (axis, value) in values.iter_mut().enumerate().take(dims) {
            *value = f(axis);
        }
        Self { dims: dims as u8, values }
    }

    /// Number of axes.
    #[must_use]
    pub const fn dims(&self) -> usize {
        self.dims as usize
    }
}

impl Deref for Coordinate {
    type Target = [i64];
    #[inline]
    fn deref(&self) -> &[i64] {
        &self.values[..self.dims as usize]
    }
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (axis, value) in self.iter().enumerate() {
            write!(f, "{}{value}", if axis == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.dims == 1 { ",)" } else { ")" })
    }
}

impl fmt::Debug for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
