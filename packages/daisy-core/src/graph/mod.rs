//! Who waits for whom; computed, never stored.
