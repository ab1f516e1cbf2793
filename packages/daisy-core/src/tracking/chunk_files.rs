//! The files of an array's chunks.

use std::io::ErrorKind as Io;
use std::path::PathBuf;

use super::cache::Slot;
use super::chunks::ChunkGrid;
use super::files::{overwrite, read_if_there, store_error, write_whole};
use super::metadata::ChunkKeys;
use crate::error::{Error, ErrorKind, Result};

/// Where the chunks of an array are.
#[derive(Debug)]
pub(super) struct ChunkFiles {
    pub(super) folder: PathBuf,
    pub(super) keys: ChunkKeys,
    pub(super) chunks: ChunkGrid,
    pub(super) item_bytes: usize,
}

impl ChunkFiles {
    /// Bytes of a chunk.
    pub(super) const fn chunk_bytes(&self) -> usize {
        self.chunks.cells() as usize * self.item_bytes
    }

    /// The file of a chunk.
    pub(super) fn path(&self, chunk: u64) -> PathBuf {
        let position = self.chunks.position(chunk);
        self.folder.join(self.keys.key(&position[..self.chunks.array().dims()]))
    }

    /// The bytes of a chunk, or `None` if nobody wrote any.
    pub(super) fn read(&self, chunk: u64) -> Result<Option<Vec<u8>>> {
        let path = self.path(chunk);
        let bytes = read_if_there(&path)?;
        match &bytes {
            Some(bytes) if bytes.len() != self.chunk_bytes() => {
                Err(Error::new(ErrorKind::Store, "a chunk of the tracking store is damaged")
                    .with_context("path", path.display())
                    .with_context("got", format!("{} bytes", bytes.len()))
                    .with_context("expected", format!("{} bytes", self.chunk_bytes())))
            }
            _ => Ok(bytes),
        }
    }

    /// Makes a chunk hold these bytes.
    pub(super) fn replace(&self, chunk: u64, bytes: &[u8]) -> Result<()> {
        write_whole(&self.path(chunk), bytes, false)
    }

    /// Removes the file of a chunk, if there is one.
    pub(super) fn remove(&self, chunk: u64) -> Result<()> {
        let path = self.path(chunk);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != Io::NotFound => Err(store_error("removing", &path, error)),
            _ => Ok(()),
        }
    }

    /// Writes the changed part of a chunk; a chunk without a file gets one that is whole from its first
    /// moment.
    pub(super) fn write(&self, slot: &mut Slot) -> Result<()> {
        if slot.dirty.is_empty() {
            return Ok(());
        }
        let path = self.path(slot.chunk);
        if !overwrite(&path, slot.dirty.start as u64, &slot.bytes[slot.dirty.clone()])? {
            write_whole(&path, &slot.bytes, false)?;
        }
        slot.dirty = 0..0;
        Ok(())
    }

    /// The chunks that may have a file. An array that has none yet is not asked for each of them.
    pub(super) fn present(&self) -> Result<std::ops::Range<u64>> {
        let folder = self.folder.join("c");
        let ours = self.keys.prefixed && self.keys.separator == '/';
        let empty =
            ours && !folder.try_exists().map_err(|error| store_error("looking for", &folder, error))?;
        Ok(0..if empty { 0 } else { self.chunks.count() })
    }
}
