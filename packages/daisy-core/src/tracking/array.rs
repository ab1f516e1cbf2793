//! One array of a store: cells in uncompressed chunks, written where they changed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::cache::{ChunkCache, Slot};
use super::chunk_files::ChunkFiles;
use super::chunks::{ChunkGrid, consecutive_chunk};
use super::element::Element;
use super::files::{read_if_there, sync, write_whole};
use super::metadata::ArrayMetadata;
use super::scan::for_each_run;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Grid, IndexSet};

/// Largest chunk of an array made by somebody else that is taken into memory.
const LARGEST_CHUNK: u64 = 1 << 30;

/// An array of a store, one cell per block.
#[derive(Debug)]
pub(super) struct Array {
    files: ChunkFiles,
    /// One cell as it is where nothing was written.
    fill: Vec<u8>,
    cache: ChunkCache,
}

impl Array {
    /// Opens the array in this folder, or makes it if there is none.
    pub(super) fn open_or_create(folder: PathBuf, grid: &Grid, element: Element) -> Result<Self> {
        if let Some(array) = Self::open(folder.clone(), grid, element)? {
            return Ok(array);
        }
        let chunk = consecutive_chunk(grid.shape(), element.bytes());
        let metadata = ArrayMetadata::ours(grid.shape(), chunk, element);
        let document = format!("{:#}\n", metadata.to_json());
        write_whole(&folder.join("zarr.json"), document.as_bytes(), true)?;
        Self::new(folder, grid, metadata)
    }

    /// Opens the array in this folder; `None` if there is none.
    pub(super) fn open(folder: PathBuf, grid: &Grid, element: Element) -> Result<Option<Self>> {
        let path = folder.join("zarr.json");
        let Some(bytes) = read_if_there(&path)? else { return Ok(None) };
        let document: Value =
            serde_json::from_slice(&bytes).map_err(|error| not_json(&path, error.to_string()))?;
        let metadata = ArrayMetadata::parse(&document, element)
            .map_err(|error| error.with_context("array", folder.display()))?;
        if metadata.shape != grid.shape() {
            return Err(Error::new(
                ErrorKind::StoreMismatch,
                "an array of the tracking store has another shape than the task's block grid",
            )
            .with_context("array", folder.display())
            .with_context("got", format!("{:?}", metadata.shape))
            .with_context("expected", format!("{:?}", grid.shape())));
        }
        Self::new(folder, grid, metadata).map(Some)
    }

    /// Opens the array in this folder, whatever its shape; `None` if there is none.
    pub(super) fn open_as_it_is(folder: PathBuf, element: Element) -> Result<Option<Self>> {
        let path = folder.join("zarr.json");
        let Some(bytes) = read_if_there(&path)? else { return Ok(None) };
        let document: Value =
            serde_json::from_slice(&bytes).map_err(|error| not_json(&path, error.to_string()))?;
        let metadata = ArrayMetadata::parse(&document, element)
            .map_err(|error| error.with_context("array", folder.display()))?;
        Self::new(folder, &Grid::new(&metadata.shape)?, metadata).map(Some)
    }

    fn new(folder: PathBuf, grid: &Grid, metadata: ArrayMetadata) -> Result<Self> {
        let chunks = ChunkGrid::new(*grid, &metadata.chunk)
            .filter(|chunks| chunks.cells().saturating_mul(metadata.element.bytes()) <= LARGEST_CHUNK)
            .ok_or_else(|| {
                Error::new(ErrorKind::Store, "an array of the tracking store has too large chunks")
                    .with_context("array", folder.display())
                    .with_context("got", format!("{:?}", metadata.chunk))
                    .with_context("expected", "chunks of at most 1 GiB")
            })?;
        let files =
            ChunkFiles { folder, keys: metadata.keys, chunks, item_bytes: metadata.element.bytes() as usize };
        Ok(Self { files, fill: metadata.fill, cache: ChunkCache::default() })
    }

    /// The block grid.
    pub(super) const fn grid(&self) -> &Grid {
        self.files.chunks.array()
    }

    const fn item(&self) -> usize {
        self.files.item_bytes
    }

    /// The chunk in memory, read or made if it is not there yet.
    fn slot(&mut self, chunk: u64) -> Result<&mut Slot> {
        if self.cache.find(chunk).is_none() {
            if let Some(place) = self.cache.leaver(self.files.chunk_bytes()) {
                self.files.write(&mut self.cache.slots()[place])?;
                self.cache.remove(place);
            }
            let bytes = self.files.read(chunk)?;
            let bytes = bytes.unwrap_or_else(|| self.fill.repeat(self.files.chunks.cells() as usize));
            self.cache.insert(chunk, bytes.into());
        }
        Ok(self.cache.find(chunk).expect("the chunk was just taken in"))
    }

    /// Sets the cell of a block, in memory until the next flush.
    pub(super) fn set(&mut self, index: u64, cell: &[u8]) -> Result<()> {
        debug_assert_eq!(cell.len(), self.item());
        let (chunk, place) = self.files.chunks.locate(index);
        let offset = place as usize * self.item();
        self.slot(chunk)?.write(offset, cell);
        Ok(())
    }

    /// Adds one to the cell of a block of a `uint16` array, which stays at its largest value.
    pub(super) fn increment(&mut self, index: u64) -> Result<()> {
        let (chunk, place) = self.files.chunks.locate(index);
        let offset = place as usize * 2;
        let slot = self.slot(chunk)?;
        let value = u16::from_le_bytes([slot.bytes[offset], slot.bytes[offset + 1]]);
        slot.write(offset, &value.saturating_add(1).to_le_bytes());
        Ok(())
    }

    /// Writes what changed since the last flush.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.cache.slots().iter_mut().try_for_each(|slot| self.files.write(slot))
    }

    /// Asks the operating system to put what was written lately on its disk.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.cache.slots().iter().try_for_each(|slot| sync(&self.files.path(slot.chunk)))
    }

    /// Writes all cells anew: one where the byte of the block is not zero. Chunks without such a block get no file.
    pub(super) fn write_flags(&self, flags: &[u8]) -> Result<()> {
        for chunk in 0..self.files.chunks.count() {
            let mut bytes = vec![0; self.files.chunk_bytes()];
            self.files.chunks.for_each_run(chunk, |run| {
                let from = &flags[run.index as usize..][..run.length as usize];
                for (cell, flag) in bytes[run.cell as usize..].iter_mut().zip(from) {
                    *cell = u8::from(*flag != 0);
                }
            });
            if bytes.contains(&1) {
                self.files.replace(chunk, &bytes)?;
            } else {
                self.files.remove(chunk)?;
            }
        }
        Ok(())
    }

    /// Calls `visit` with the cells that are in files, and what they hold.
    pub(super) fn for_each_cell(&self, mut visit: impl FnMut(u64, &[u8])) -> Result<()> {
        let chunks = &self.files.chunks;
        for chunk in self.files.present()? {
            let Some(bytes) = self.files.read(chunk)? else { continue };
            chunks.for_each_run(chunk, |run| {
                let cells = &bytes[run.cell as usize * self.item()..][..run.length as usize * self.item()];
                for (index, cell) in (run.index..).zip(cells.chunks_exact(self.item())) {
                    visit(index, cell);
                }
            });
        }
        Ok(())
    }

    /// The blocks whose cell is not zero, as they are in the files.
    pub(super) fn nonzero(&self) -> Result<IndexSet> {
        let chunks = &self.files.chunks;
        let mut set = IndexSet::new(chunks.array().len());
        let filled = self.fill.iter().any(|byte| *byte != 0);
        let candidates = if filled { 0..chunks.count() } else { self.files.present()? };
        for chunk in candidates {
            let bytes = self.files.read(chunk)?;
            chunks.for_each_run(chunk, |run| match &bytes {
                None if filled => {
                    set.insert_range(run.index, run.length);
                }
                None => {}
                Some(bytes) => {
                    let from = run.cell as usize * self.item();
                    let cells = &bytes[from..from + run.length as usize * self.item()];
                    for_each_run(cells, self.item(), |first, length| {
                        set.insert_range(run.index + first as u64, length as u64);
                    });
                }
            });
        }
        Ok(set)
    }
}

/// A document that is no JSON.
pub(super) fn not_json(path: &Path, got: String) -> Error {
    Error::new(ErrorKind::Store, "the metadata of the tracking store is damaged")
        .with_context("path", path.display())
        .with_context("got", got)
        .with_context("expected", "the JSON document of a Zarr v3 node")
}
