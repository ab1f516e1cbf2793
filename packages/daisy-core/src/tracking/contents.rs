//! A store looked at by itself, without the task that it belongs to.

use std::fs::File;
use std::path::Path;

use serde_json::{Map, Value};

use super::array::{Array, not_json};
use super::element::Element;
use super::files::read_if_there;
use super::found::{Found, look};
use super::holder::{Holder, Life};
use super::lock::{EXCLUSIVE_FILE, LOCK_FILE, read_holder};
use super::measured::ARRAYS;
use super::store::MASKED;
use crate::error::Result;
use crate::geometry::{Grid, IndexSet};

/// What is in a store: no lock, nothing made, nothing written. A run may go on in it.
#[derive(Debug)]
pub struct Contents {
    attributes: Map<String, Value>,
    done: Array,
    masked: Option<Array>,
    failures: Option<Array>,
    measured: Vec<Option<Array>>,
    holder: Option<Holder>,
}

impl Contents {
    /// Looks at a path; `None` if no store is there, or one whose making was interrupted.
    ///
    /// # Errors
    /// `Store` if there is one that cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let Found::Ours(_) = look(path)? else { return Ok(None) };
        let Some(done) = Array::open_as_it_is(path.join("done"), Element::UInt8)? else { return Ok(None) };
        let grid = *done.grid();
        let array = |name: &str, element| Array::open(path.join(name), &grid, element);
        let measured = ARRAYS.iter().map(|(name, element)| array(name, *element)).collect::<Result<_>>()?;
        Ok(Some(Self {
            attributes: attributes(&path.join("zarr.json"))?,
            masked: array(MASKED, Element::UInt8)?,
            failures: array("failures", Element::UInt16)?,
            measured,
            holder: holder(&path.join("done")),
            done,
        }))
    }

    /// Attributes of the group, as they are in its document.
    #[must_use]
    pub const fn attributes(&self) -> &Map<String, Value> {
        &self.attributes
    }

    /// The block grid.
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        self.done.grid()
    }

    /// The process that is in the lock file, if there is one, and whether it may be alive, as seen from a machine of
    /// this name.
    #[must_use]
    pub fn holder(&self, host: &str) -> Option<(&Holder, bool)> {
        self.holder.as_ref().map(|holder| (holder, holder.life(host) != Life::Dead))
    }

    /// The blocks that are done.
    ///
    /// # Errors
    /// `Store` if a chunk cannot be read; so for the other methods.
    pub fn done(&self) -> Result<IndexSet> {
        self.done.nonzero()
    }

    /// The blocks that the last run left out because of its mask.
    ///
    /// # Errors
    /// As for [`Contents::done`].
    pub fn masked(&self) -> Result<IndexSet> {
        self.masked.as_ref().map_or_else(|| Ok(IndexSet::new(self.grid().len())), Array::nonzero)
    }

    /// Calls `visit` for each block of which attempts failed, with their number.
    ///
    /// # Errors
    /// As for [`Contents::done`].
    pub fn for_each_failed(&self, mut visit: impl FnMut(u64, u16)) -> Result<()> {
        let Some(failures) = &self.failures else { return Ok(()) };
        failures.for_each_cell(|index, cell| {
            let count = cell.try_into().map_or(0, u16::from_le_bytes);
            if count > 0 {
                visit(index, count);
            }
        })
    }

    /// Calls `visit` for each block of which this quantity was measured: `wall_seconds`, `cpu_seconds`,
    /// `peak_rss_bytes`, `io_read_bytes` or `io_write_bytes`.
    ///
    /// # Errors
    /// As for [`Contents::done`].
    pub fn for_each_measured(&self, quantity: &str, mut visit: impl FnMut(u64, f64)) -> Result<()> {
        let place = ARRAYS.iter().position(|(name, _)| *name == quantity);
        let Some(Some(array)) = place.and_then(|place| self.measured.get(place)) else { return Ok(()) };
        array.for_each_cell(|index, cell| {
            let value = match *cell {
                [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
                _ => cell.try_into().map_or(0.0, |bytes| u64::from_le_bytes(bytes) as f64),
            };
            if !value.is_nan() {
                visit(index, value);
            }
        })
    }
}

fn attributes(path: &Path) -> Result<Map<String, Value>> {
    let bytes = read_if_there(path)?.unwrap_or_default();
    let document: Value =
        serde_json::from_slice(&bytes).map_err(|error| not_json(path, error.to_string()))?;
    Ok(document.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default())
}

/// Whoever is named in a lock file, or was when it died.
fn holder(done: &Path) -> Option<Holder> {
    let read = |name| File::open(done.join(name)).ok().and_then(|mut file| read_holder(&mut file));
    read(LOCK_FILE).or_else(|| read(EXCLUSIVE_FILE))
}
