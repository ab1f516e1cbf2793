//! A set of block indices that stays small however many there are.
//!
//! Pages of [`PAGE`] indices are empty, full or bits. What is done in a run of 10⁹ blocks is mostly full
//! pages behind the front and empty pages before it, so memory follows the front.

/// Indices per page.
pub const PAGE: u64 = 4096;
const WORDS: usize = (PAGE / 64) as usize;

#[derive(Clone, Debug)]
enum Page {
    Empty,
    Full,
    Bits(Box<Bits>),
}

#[derive(Clone, Debug)]
struct Bits {
    words: [u64; WORDS],
    count: u32,
}

/// A subset of `0..len`.
///
/// ```
/// use daisy_core::geometry::IndexSet;
/// let mut set = IndexSet::new(10_000_000_000);
/// assert_eq!(set.insert_range(5, 9_000_000_000), 9_000_000_000);
/// assert!(set.contains(5) && !set.contains(4));
/// assert_eq!(set.next_missing(5), Some(9_000_000_005));
/// ```
#[derive(Clone, Debug)]
pub struct IndexSet {
    len: u64,
    count: u64,
    pages: Vec<Page>,
}

impl IndexSet {
    /// The empty subset of `0..len`.
    #[must_use]
    pub const fn new(len: u64) -> Self {
        Self { len, count: 0, pages: Vec::new() }
    }

    /// The whole of `0..len`.
    #[must_use]
    pub fn full(len: u64) -> Self {
        let mut set = Self::new(len);
        set.insert_range(0, len);
        set
    }

    /// Size of the universe: indices are below it.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Number of indices in the set.
    #[inline]
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether every index of the universe is in the set.
    #[inline]
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.count == self.len
    }

    /// Whether this index is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, index: u64) -> bool {
        match self.pages.get((index / PAGE) as usize) {
            None | Some(Page::Empty) => false,
            Some(Page::Full) => true,
            Some(Page::Bits(bits)) => {
                let (word, bit) = place(index);
                bits.words[word] >> bit & 1 == 1
            }
        }
    }

    /// Whether the page that holds this index is full.
    #[inline]
    #[must_use]
    pub fn is_page_full(&self, page: u64) -> bool {
        matches!(self.pages.get(page as usize), Some(Page::Full))
    }

    /// Adds an index below [`IndexSet::len`]; whether it was new.
    #[inline]
    pub fn insert(&mut self, index: u64) -> bool {
        debug_assert!(index < self.len, "index {index} of a set over {}", self.len);
        let number = index / PAGE;
        let size = self.page_size(number);
        let bits = match self.page_mut(number) {
            Page::Full => return false,
            Page::Bits(bits) => bits,
            empty @ Page::Empty => {
                *empty = Page::Bits(Box::new(Bits { words: [0; WORDS], count: 0 }));
                match empty {
                    Page::Bits(bits) => bits,
                    _ => return false,
                }
            }
        };
        let (word, bit) = place(index);
        if bits.words[word] >> bit & 1 == 1 {
            return false;
        }
        bits.words[word] |= 1 << bit;
        bits.count += 1;
        if u64::from(bits.count) == size {
            self.pages[number as usize] = Page::Full;
        }
        self.count += 1;
        true
    }

    /// Adds `first..first + length`, cut at [`IndexSet::len`]; how many were new. Costs a word operation per
    /// 64 indices at the two ends and one operation per page between.
    pub fn insert_range(&mut self, first: u64, length: u64) -> u64 {
        let end = first.saturating_add(length).min(self.len);
        let before = self.count;
        let mut from = first;
        while from < end {
            let number = from / PAGE;
            let to = end.min((number + 1) * PAGE);
            self.insert_in_page(number, from, to);
            from = to;
        }
        self.count - before
    }

    fn insert_in_page(&mut self, number: u64, from: u64, to: u64) {
        let size = self.page_size(number);
        let page = self.page_mut(number);
        let had = match page {
            Page::Full => return,
            Page::Empty => 0,
            Page::Bits(bits) => u64::from(bits.count),
        };
        let has = if to - from == size {
            *page = Page::Full;
            size
        } else {
            if matches!(page, Page::Empty) {
                *page = Page::Bits(Box::new(Bits { words: [0; WORDS], count: 0 }));
            }
            let Page::Bits(bits) = page else { return };
            for_each_word(from, to, |word, mask| {
                bits.count += (mask & !bits.words[word]).count_ones();
                bits.words[word] |= mask;
            });
            let has = u64::from(bits.count);
            if has == size {
                *page = Page::Full;
            }
            has
        };
        self.count += has - had;
    }

    /// How many of `first..first + length` are in the set.
    #[must_use]
    pub fn count_range(&self, first: u64, length: u64) -> u64 {
        let end = first.saturating_add(length).min(self.len);
        let (mut count, mut from) = (0, first);
        while from < end {
            let number = from / PAGE;
            let to = end.min((number + 1) * PAGE);
            count += match self.pages.get(number as usize) {
                None | Some(Page::Empty) => 0,
                Some(Page::Full) => to - from,
                Some(Page::Bits(bits)) => {
                    let mut part = 0;
                    for_each_word(from, to, |word, mask| {
                        part += u64::from((bits.words[word] & mask).count_ones())
                    });
                    part
                }
            };
            from = to;
        }
        count
    }

    /// Adds every index of `other` that is below [`IndexSet::len`].
    pub fn insert_all(&mut self, other: &Self) {
        for (number, page) in other.pages.iter().enumerate() {
            let first = number as u64 * PAGE;
            match page {
                Page::Empty => {}
                Page::Full => {
                    self.insert_range(first, PAGE);
                }
                Page::Bits(bits) => {
                    for (word, value) in bits.words.iter().enumerate() {
                        let mut rest = *value;
                        while rest != 0 {
                            let low = u64::from(rest.trailing_zeros());
                            let run = u64::from((rest >> low).trailing_ones());
                            self.insert_range(first + word as u64 * 64 + low, run);
                            rest = if low + run >= 64 { 0 } else { rest & (u64::MAX << (low + run)) };
                        }
                    }
                }
            }
        }
    }

    /// The indices that are not in the set, as a set.
    #[must_use]
    pub fn complement(&self) -> Self {
        let mut result = Self::new(self.len);
        let mut from = 0;
        while let Some(first) = self.next_missing(from) {
            let end = self.next_present(first).unwrap_or(self.len);
            result.insert_range(first, end - first);
            from = end;
        }
        result
    }

    /// The smallest index of the universe, `from` or later, that is not in the set.
    #[must_use]
    pub fn next_missing(&self, from: u64) -> Option<u64> {
        self.next_where(from, |page| match page {
            Page::Empty => Scan::All,
            Page::Full => Scan::None,
            Page::Bits(bits) => Scan::Words(bits, u64::MAX),
        })
    }

    /// The smallest index in the set, `from` or later.
    #[must_use]
    pub fn next_present(&self, from: u64) -> Option<u64> {
        self.next_where(from, |page| match page {
            Page::Empty => Scan::None,
            Page::Full => Scan::All,
            Page::Bits(bits) => Scan::Words(bits, 0),
        })
    }

    fn next_where<'a>(&'a self, from: u64, scan: impl Fn(&'a Page) -> Scan<'a>) -> Option<u64> {
        let mut index = from;
        while index < self.len {
            let number = index / PAGE;
            match scan(self.pages.get(number as usize).unwrap_or(&Page::Empty)) {
                Scan::All => return Some(index),
                Scan::None => {}
                Scan::Words(bits, flip) => {
                    let (start, bit) = place(index);
                    let mut mask = u64::MAX << bit;
                    for word in start..WORDS {
                        let hits = (bits.words[word] ^ flip) & mask;
                        if hits != 0 {
                            let found = number * PAGE + word as u64 * 64 + u64::from(hits.trailing_zeros());
                            return (found < self.len).then_some(found);
                        }
                        mask = u64::MAX;
                    }
                }
            }
            if number as usize >= self.pages.len() {
                // Past the last page all are empty: `All` has returned, `None` finds nothing more.
                return None;
            }
            index = (number + 1) * PAGE;
        }
        None
    }

    /// The indices in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let mut next = self.next_present(0);
        std::iter::from_fn(move || {
            let current = next?;
            next = self.next_present(current + 1);
            Some(current)
        })
    }

    fn page_size(&self, number: u64) -> u64 {
        PAGE.min(self.len - number * PAGE)
    }

    #[inline]
    fn page_mut(&mut self, number: u64) -> &mut Page {
        let number = number as usize;
        if number >= self.pages.len() {
            self.pages.resize(number + 1, Page::Empty);
        }
        &mut self.pages[number]
    }
}

enum Scan<'a> {
    All,
    None,
    Words(&'a Bits, u64),
}

#[inline]
const fn place(index: u64) -> (usize, u32) {
    ((index % PAGE / 64) as usize, (index % 64) as u32)
}

/// Calls `visit(word, mask)` for the words that hold `from..to`, all in one page.
fn for_each_word(from: u64, to: u64, mut visit: impl FnMut(usize, u64)) {
    let (first, last) = (place(from).0, place(to - 1).0);
    for word in first..=last {
        let mut mask = u64::MAX;
        if word == first {
            mask &= u64::MAX << place(from).1;
        }
        if word == last {
            mask &= u64::MAX >> (63 - place(to - 1).1);
        }
        visit(word, mask);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_plain_set(
            len in 1u64..20_000,
            steps in proptest::collection::vec((0u64..20_000, 0u64..9_000), 1..30),
        ) {
            let (mut set, mut plain) = (IndexSet::new(len), BTreeSet::new());
            for (first, length) in steps {
                let new = if length < 2 && first < len {
                    let new = u64::from(plain.insert(first));
                    prop_assert_eq!(u64::from(set.insert(first)), new);
                    continue;
                } else {
                    (first..(first + length).min(len)).filter(|index| plain.insert(*index)).count() as u64
                };
                prop_assert_eq!(set.insert_range(first, length), new);
                prop_assert_eq!(set.count_range(first, length), (first + length).min(len).saturating_sub(first));
                prop_assert_eq!(set.count_range(first / 2, length),
                    plain.range(first / 2..(first / 2 + length).max(first / 2)).count() as u64);
            }
            prop_assert_eq!(set.count(), plain.len() as u64);
            prop_assert!(set.iter().eq(plain.iter().copied()));
            let missing: Vec<u64> = (0..len).filter(|index| !plain.contains(index)).collect();
            prop_assert!(set.complement().iter().eq(missing.iter().copied()));
            prop_assert_eq!(set.next_missing(0), missing.first().copied());
            let mut other = IndexSet::new(len);
            other.insert_all(&set);
            prop_assert!(other.iter().eq(set.iter()) && other.count() == set.count());
        }
    }
}
