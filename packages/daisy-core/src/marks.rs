//! What is kept of blocks while a run goes on: marks and measurements.

use crate::error::Result;
use crate::ids::BlockRef;
use crate::measurement::Measurement;
use crate::scheduler::BlockEnd;

/// Takes note of blocks on the server, where every return arrives. Called on the server's thread only.
///
/// Calls must not wait for anything slow: while they run, no worker is served. What goes wrong is kept and given
/// back by [`MarkSink::flush`]; the run then stops with that error.
pub trait MarkSink: Send {
    /// A block came to its end. The only call that may mark a block as done.
    fn settled(&mut self, block: BlockRef, end: BlockEnd);

    /// An attempt of a block failed, whatever the reason.
    fn failed_attempt(&mut self, block: BlockRef);

    /// An accepted report brought a measurement.
    fn measured(&mut self, block: BlockRef, measurement: &Measurement);

    /// Makes durable what was noted so far. Called about once a second while there is something new, and at the
    /// end of the run.
    ///
    /// # Errors
    /// Anything that went wrong since the last call.
    fn flush(&mut self) -> Result<()>;
}
