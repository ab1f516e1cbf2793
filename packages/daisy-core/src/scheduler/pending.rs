//! For how many blocks each block of a task still waits.

use crate::geometry::PAGE;

/// Sparse table of counts. A page exists from the first time that one of its blocks is touched until all of
/// them are settled, so that memory follows the front.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pages: Vec<Option<Box<[u32; PAGE as usize]>>>,
}

impl Pending {
    /// The place of a block: 0 if it was never touched, else one more than the number it waits for.
    #[inline]
    pub(super) fn slot(&mut self, index: u64) -> &mut u32 {
        let page = (index / PAGE) as usize;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let cells = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE as usize]));
        &mut cells[(index % PAGE) as usize]
    }

    /// Forgets a page whose blocks are all settled.
    #[inline]
    pub(super) fn forget(&mut self, page: u64) {
        if let Some(cells) = self.pages.get_mut(page as usize) {
            *cells = None;
        }
    }
}
