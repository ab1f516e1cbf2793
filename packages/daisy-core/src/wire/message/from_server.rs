//! What the server says.

use std::time::Duration;

use super::{Grant, unpack_magic};
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Coordinate, Roi};
use crate::ids::WorkerId;
use crate::plan::{BlockLayout, Fit};
use crate::wire::handshake::{MAGIC, Nonce, Proof};
use crate::wire::pack::{Packer, Unpacker, wrong};

/// A message from the server to a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerMessage {
    /// The answer to a hello: `[17, "daisy", version, nonce]`.
    Challenge {
        /// The protocol that the server speaks.
        version: u32,
        /// Its nonce.
        nonce: Nonce,
    },
    /// The server knows the token: `[18, proof]`.
    Proof(Proof),
    /// The worker is registered:
    /// `[19, worker, reports_seen, heartbeat_ms, grace_ms, timeout_ms or nil, measures, layout]`.
    Welcome {
        /// How many reports of this worker have arrived, over all its connections.
        reports_seen: u64,
        /// Everything else.
        welcome: Box<Welcome>,
    },
    /// Blocks to process, in this order: `[20, reports_seen, [[index, attempt], …]]`.
    Grants {
        /// How many reports of this worker have arrived.
        reports_seen: u64,
        /// The blocks.
        grants: Vec<Grant>,
    },
    /// There is nothing left for this worker: `[21]`.
    Dismiss,
    /// End at once, in mid-block if need be: `[22, reason]`.
    Kill {
        /// Why.
        reason: String,
    },
    /// I am alive: `[23, reports_seen]`.
    Heartbeat {
        /// How many reports of this worker have arrived.
        reports_seen: u64,
    },
    /// The peer is not wanted and why; the connection is closed: `[24, kind, text]`.
    Refused(Refused),
    /// A report changed nothing: `[25, index, reason]`.
    ReportRefused {
        /// The block it was on.
        index: u64,
        /// Why.
        reason: String,
    },
}

/// What the server tells a worker that it accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Welcome {
    /// The worker's id.
    pub worker: WorkerId,
    /// Where the blocks of its task are; ROIs and block ids follow from the index in a [`Grant`].
    pub layout: BlockLayout,
    /// Time one block may take; `None`: no limit.
    pub timeout: Option<Duration>,
    /// Whether reports should carry a [`crate::Measurement`].
    pub measures: bool,
    /// Time between signs of life.
    pub heartbeat: Duration,
    /// How long a lost connection is tried again before the driver counts as gone.
    pub reconnect_grace: Duration,
}

/// Why a peer is turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What kind of problem it is.
    pub kind: ErrorKind,
    /// What it is, with got, expected and the way out.
    pub text: String,
}

impl From<&Error> for Refused {
    fn from(error: &Error) -> Self {
        Self { kind: error.kind(), text: error.to_string() }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Self::new(refused.kind, format!("the server says: {}", refused.text))
    }
}

impl ServerMessage {
    /// Appends the message to `out`.
    pub fn pack(&self, out: &mut Vec<u8>) {
        let out = &mut Packer(out);
        match self {
            Self::Challenge { version, nonce } => {
                out.array(4);
                out.uint(17);
                out.text(MAGIC);
                out.uint(u64::from(*version));
                out.bytes(nonce);
            }
            Self::Proof(proof) => {
                out.array(2);
                out.uint(18);
                out.bytes(proof);
            }
            Self::Welcome { reports_seen, welcome } => pack_welcome(*reports_seen, welcome, out),
            Self::Grants { reports_seen, grants } => Self::pack_grants(*reports_seen, grants, out.0),
            Self::Dismiss => {
                out.array(1);
                out.uint(21);
            }
            Self::Kill { reason } => {
                out.array(2);
                out.uint(22);
                out.text(reason);
            }
            Self::Heartbeat { reports_seen } => {
                out.array(2);
                out.uint(23);
                out.uint(*reports_seen);
            }
            Self::Refused(refused) => {
                out.array(3);
                out.uint(24);
                out.text(refused.kind.name());
                out.text(&refused.text);
            }
            Self::ReportRefused { index, reason } => {
                out.array(3);
                out.uint(25);
                out.uint(*index);
                out.text(reason);
            }
        }
    }

    /// Appends [`ServerMessage::Grants`].
    pub fn pack_grants(reports_seen: u64, grants: &[Grant], out: &mut Vec<u8>) {
        let out = &mut Packer(out);
        out.array(3);
        out.uint(20);
        out.uint(reports_seen);
        Grant::pack_all(grants, out);
    }

    /// Reads a message.
    ///
    /// # Errors
    /// `Protocol` for anything that is not exactly one message.
    pub fn unpack(body: &[u8]) -> Result<Self> {
        let input = &mut Unpacker(body);
        let length = input.array("message")?;
        let message = match (input.uint("message type")?, length) {
            (17, 4) => {
                unpack_magic(input)?;
                Self::Challenge { version: input.small("version")?, nonce: input.bytes("nonce")? }
            }
            (18, 2) => Self::Proof(input.bytes("proof")?),
            (19, 8) => unpack_welcome(input)?,
            (20, 3) => {
                Self::Grants { reports_seen: input.uint("reports seen")?, grants: Grant::unpack_all(input)? }
            }
            (21, 1) => Self::Dismiss,
            (22, 2) => Self::Kill { reason: input.text("reason")?.to_owned() },
            (23, 2) => Self::Heartbeat { reports_seen: input.uint("reports seen")? },
            (24, 3) => Self::Refused(Refused {
                kind: kind_from(input.text("kind")?),
                text: input.text("text")?.to_owned(),
            }),
            (25, 3) => Self::ReportRefused {
                index: input.uint("block index")?,
                reason: input.text("reason")?.to_owned(),
            },
            _ => return Err(wrong("message", "a known type with its number of elements")),
        };
        input.end()?;
        Ok(message)
    }
}

/// The kind with this name; a kind that a later version may add is a refusal.
fn kind_from(name: &str) -> ErrorKind {
    [ErrorKind::Protocol, ErrorKind::Authentication, ErrorKind::InvalidArgument, ErrorKind::ConnectionLost]
        .into_iter()
        .find(|kind| kind.name() == name)
        .unwrap_or(ErrorKind::Refused)
}

fn pack_welcome(reports_seen: u64, welcome: &Welcome, out: &mut Packer<'_>) {
    out.array(8);
    out.uint(19);
    out.uint(welcome.worker.0);
    out.uint(reports_seen);
    out.uint(millis(welcome.heartbeat));
    out.uint(millis(welcome.reconnect_grace));
    out.option(welcome.timeout, |out, timeout| out.uint(millis(timeout)));
    out.bool(welcome.measures);
    pack_layout(&welcome.layout, out);
}

fn unpack_welcome(input: &mut Unpacker<'_>) -> Result<ServerMessage> {
    let worker = WorkerId(input.uint("worker id")?);
    let reports_seen = input.uint("reports seen")?;
    let heartbeat = Duration::from_millis(input.uint("heartbeat")?);
    let reconnect_grace = Duration::from_millis(input.uint("grace")?);
    let timeout = input.option(|input| input.uint("timeout"))?.map(Duration::from_millis);
    let measures = input.bool("measures")?;
    let layout = unpack_layout(input)?;
    let welcome = Box::new(Welcome { worker, layout, timeout, measures, heartbeat, reconnect_grace });
    Ok(ServerMessage::Welcome { reports_seen, welcome })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// `[fit, total_begin, total_shape, write_shape, context_lower, context_upper]`.
fn pack_layout(layout: &BlockLayout, out: &mut Packer<'_>) {
    out.array(6);
    out.text(layout.fit().name());
    let total = layout.total_roi();
    for values in
        [total.begin(), total.shape(), layout.block_shape(), layout.context_lower(), layout.context_upper()]
    {
        out.array(values.dims());
        values.iter().for_each(|value| out.int(*value));
    }
}

fn unpack_layout(input: &mut Unpacker<'_>) -> Result<BlockLayout> {
    input.array_of("layout", 6)?;
    let fit: Fit = input.text("fit")?.parse()?;
    let mut coordinates = [Coordinate::new(&[0])?; 5];
    for values in &mut coordinates {
        let dims = input.array("coordinate")?;
        let read: Vec<i64> = (0..dims).map(|_| input.int("coordinate")).collect::<Result<_>>()?;
        *values = Coordinate::new(&read)?;
    }
    let [begin, shape, block, lower, upper] = coordinates;
    if [shape, block, lower, upper].iter().any(|values| values.dims() != begin.dims()) {
        return Err(wrong("layout", "coordinates of one rank"));
    }
    let too_large = || wrong("layout", "sizes that fit in 63 bits");
    let mut read = (Vec::new(), Vec::new());
    for axis in 0..begin.dims() {
        let grown = block[axis].checked_add(lower[axis]).and_then(|size| size.checked_add(upper[axis]));
        read.0.push(lower[axis].checked_neg().ok_or_else(too_large)?);
        read.1.push(grown.ok_or_else(too_large)?);
    }
    let write = Roi::new(&vec![0; begin.dims()], &block)?;
    BlockLayout::new(Roi::new(&begin, &shape)?, Roi::new(&read.0, &read.1)?, write, fit)
}
