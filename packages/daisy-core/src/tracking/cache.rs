//! A few chunks in memory, with what has to be written of each.

use std::ops::Range;

/// Bytes of cached chunks per array, at most; one chunk is always kept, whatever its size.
const CACHE_BYTES: usize = 2 * 1024 * 1024;

/// One chunk as it is, or will be once written.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) chunk: u64,
    pub(super) bytes: Box<[u8]>,
    /// Bytes that the file does not have yet; empty if it has all.
    pub(super) dirty: Range<usize>,
    used: u64,
}

/// Least recently used chunks leave first.
#[derive(Debug, Default)]
pub(super) struct ChunkCache {
    slots: Vec<Slot>,
    clock: u64,
    latest: usize,
}

impl ChunkCache {
    /// Where a chunk is, if it is here.
    #[inline]
    pub(super) fn find(&mut self, chunk: u64) -> Option<&mut Slot> {
        let latest = self.slots.get(self.latest).is_some_and(|slot| slot.chunk == chunk);
        let place = if latest {
            self.latest
        } else {
            self.clock += 1;
            self.slots.iter().position(|slot| slot.chunk == chunk)?
        };
        self.latest = place;
        let slot = &mut self.slots[place];
        slot.used = self.clock;
        Some(slot)
    }

    /// The chunk that has to leave before one of `bytes` bytes may come.
    pub(super) fn leaver(&self, bytes: usize) -> Option<usize> {
        if self.slots.len() < (CACHE_BYTES / bytes.max(1)).max(1) {
            return None;
        }
        self.slots.iter().enumerate().min_by_key(|(_, slot)| slot.used).map(|(place, _)| place)
    }

    /// Forgets the chunk at this place.
    pub(super) fn remove(&mut self, place: usize) {
        self.slots.swap_remove(place);
    }

    /// Takes a chunk in.
    pub(super) fn insert(&mut self, chunk: u64, bytes: Box<[u8]>) -> &mut Slot {
        self.clock += 1;
        self.latest = self.slots.len();
        self.slots.push(Slot { chunk, bytes, dirty: 0..0, used: self.clock });
        &mut self.slots[self.latest]
    }

    pub(super) fn slots(&mut self) -> &mut [Slot] {
        &mut self.slots
    }
}

impl Slot {
    /// Overwrites a cell.
    #[inline]
    pub(super) fn write(&mut self, offset: usize, cell: &[u8]) {
        let place = offset..offset + cell.len();
        if self.bytes[place.clone()] == *cell {
            return;
        }
        self.bytes[place.clone()].copy_from_slice(cell);
        self.dirty = if self.dirty.is_empty() {
            place
        } else {
            self.dirty.start.min(place.start)..self.dirty.end.max(place.end)
        };
    }
}
