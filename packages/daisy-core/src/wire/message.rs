//! Messages: MessagePack arrays `[type, …]`. No sockets here; a message is one body of a frame.

mod from_server;
mod from_worker;

pub use from_server::{Refused, ServerMessage, Welcome};
pub use from_worker::{Report, WorkerMessage};

use super::pack::{Packer, Unpacker, wrong};
use crate::error::Result;

/// The right to process one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Dense index of the block in its task.
    pub index: u64,
    /// Which attempt this is, counted from 1; the report must repeat it.
    pub attempt: u32,
}

impl Grant {
    fn pack_all(grants: &[Self], out: &mut Packer<'_>) {
        out.array(grants.len());
        for grant in grants {
            out.array(2);
            out.uint(grant.index);
            out.uint(u64::from(grant.attempt));
        }
    }

    fn unpack_all(input: &mut Unpacker<'_>) -> Result<Vec<Self>> {
        (0..input.array("blocks")?)
            .map(|_| {
                input.array_of("block", 2)?;
                Ok(Self { index: input.uint("block index")?, attempt: input.small("attempt")? })
            })
            .collect()
    }
}

/// The magic word that opens a conversation.
fn unpack_magic(input: &mut Unpacker<'_>) -> Result<()> {
    if input.text("magic")? == super::handshake::MAGIC {
        return Ok(());
    }
    Err(wrong("magic", "\"daisy\""))
}
