//! What workers say.

use std::sync::Arc;
use std::time::Duration;

use super::{Grant, unpack_magic};
use crate::error::Result;
use crate::ids::WorkerId;
use crate::measurement::Measurement;
use crate::scheduler::Outcome;
use crate::wire::handshake::{MAGIC, Nonce, Proof};
use crate::wire::pack::{Packer, Unpacker, wrong};

/// A message from a worker to its server.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerMessage {
    /// The first word: `[1, "daisy", version, nonce]`.
    Hello {
        /// The protocol that the worker speaks.
        version: u32,
        /// Its nonce.
        nonce: Nonce,
    },
    /// The worker knows the token: `[2, worker or nil, proof]`.
    Proof {
        /// The id that it was launched under.
        worker: Option<WorkerId>,
        /// Its proof.
        proof: Proof,
    },
    /// Names the connection: `[3, task, incarnation, capacity, held]`.
    Register {
        /// Name of the task whose blocks it processes.
        task: String,
        /// Random bytes chosen once per worker: only who repeats them may take up a lost connection.
        incarnation: [u8; 16],
        /// Most blocks that it can hold; 0: none before it is [`WorkerMessage::Ready`].
        capacity: u32,
        /// Blocks that it holds or has reported without an answer, after a lost connection.
        held: Vec<Grant>,
    },
    /// Ended blocks: `[4, [report, …]]`.
    Reports(Vec<Report>),
    /// Blocks given back unstarted: `[5, [index, …]]`.
    Return(Vec<u64>),
    /// No more blocks, please: `[6]`.
    Draining,
    /// I am alive: `[7]`.
    Heartbeat,
    /// Nothing follows; every block that was started has been reported on: `[8]`.
    Goodbye,
    /// Blocks, please: `[9, capacity]`.
    Ready {
        /// Most blocks that it can hold.
        capacity: u32,
    },
}

/// How one block went: `[index, attempt, nanoseconds]`, or with `error or nil` and `measurement or nil` behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The block and the attempt, as granted.
    pub grant: Grant,
    /// How it went.
    pub outcome: Outcome,
    /// Time it took.
    pub duration: Duration,
    /// What it used.
    pub measurement: Option<Measurement>,
}

impl WorkerMessage {
    /// Appends the message to `out`.
    pub fn pack(&self, out: &mut Vec<u8>) {
        let out = &mut Packer(out);
        match self {
            Self::Hello { version, nonce } => {
                out.array(4);
                out.uint(1);
                out.text(MAGIC);
                out.uint(u64::from(*version));
                out.bytes(nonce);
            }
            Self::Proof { worker, proof } => {
                out.array(3);
                out.uint(2);
                out.option(*worker, |out, worker| out.uint(worker.0));
                out.bytes(proof);
            }
            Self::Register { task, incarnation, capacity, held } => {
                out.array(5);
                out.uint(3);
                out.text(task);
                out.bytes(incarnation);
                out.uint(u64::from(*capacity));
                Grant::pack_all(held, out);
            }
            Self::Reports(reports) => Self::pack_reports(reports.len(), reports.iter(), out.0),
            Self::Return(indices) => {
                out.array(2);
                out.uint(5);
                out.array(indices.len());
                indices.iter().for_each(|index| out.uint(*index));
            }
            Self::Draining => pack_bare(6, out),
            Self::Heartbeat => pack_bare(7, out),
            Self::Goodbye => pack_bare(8, out),
            Self::Ready { capacity } => {
                out.array(2);
                out.uint(9);
                out.uint(u64::from(*capacity));
            }
        }
    }

    /// Appends [`WorkerMessage::Reports`] of reports that lie anywhere.
    pub fn pack_reports<'a>(count: usize, reports: impl Iterator<Item = &'a Report>, out: &mut Vec<u8>) {
        let out = &mut Packer(out);
        out.array(2);
        out.uint(4);
        out.array(count);
        reports.for_each(|report| report.pack(out));
    }

    /// Reads a message.
    ///
    /// # Errors
    /// `Protocol` for anything that is not exactly one message.
    pub fn unpack(body: &[u8]) -> Result<Self> {
        let input = &mut Unpacker(body);
        let length = input.array("message")?;
        let message = match (input.uint("message type")?, length) {
            (1, 4) => {
                unpack_magic(input)?;
                Self::Hello { version: input.small("version")?, nonce: input.bytes("nonce")? }
            }
            (2, 3) => Self::Proof {
                worker: input.option(|input| input.uint("worker id"))?.map(WorkerId),
                proof: input.bytes("proof")?,
            },
            (3, 5) => Self::Register {
                task: input.text("task")?.to_owned(),
                incarnation: input.bytes("incarnation")?,
                capacity: input.small("capacity")?,
                held: Grant::unpack_all(input)?,
            },
            (4, 2) => {
                let count = input.array("reports")?;
                Self::Reports((0..count).map(|_| Report::unpack(input)).collect::<Result<_>>()?)
            }
            (5, 2) => {
                let count = input.array("blocks")?;
                Self::Return((0..count).map(|_| input.uint("block index")).collect::<Result<_>>()?)
            }
            (6, 1) => Self::Draining,
            (7, 1) => Self::Heartbeat,
            (8, 1) => Self::Goodbye,
            (9, 2) => Self::Ready { capacity: input.small("capacity")? },
            _ => return Err(wrong("message", "a known type with its number of elements")),
        };
        input.end()?;
        Ok(message)
    }
}

fn pack_bare(kind: u64, out: &mut Packer<'_>) {
    out.array(1);
    out.uint(kind);
}

impl Report {
    fn pack(&self, out: &mut Packer<'_>) {
        let error = match &self.outcome {
            Outcome::Succeeded => None,
            Outcome::Failed { error } => Some(error),
        };
        let is_short = error.is_none() && self.measurement.is_none();
        out.array(if is_short { 3 } else { 5 });
        out.uint(self.grant.index);
        out.uint(u64::from(self.grant.attempt));
        out.uint(u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX));
        if !is_short {
            out.option(error, |out, error| out.text(error));
            out.option(self.measurement.as_ref(), pack_measurement);
        }
    }

    fn unpack(input: &mut Unpacker<'_>) -> Result<Self> {
        let length = input.array("report")?;
        if length != 3 && length != 5 {
            return Err(wrong("report", "an array of 3 or 5"));
        }
        let grant = Grant { index: input.uint("block index")?, attempt: input.small("attempt")? };
        let duration = Duration::from_nanos(input.uint("nanoseconds")?);
        let (mut outcome, mut measurement) = (Outcome::Succeeded, None);
        if length == 5 {
            if let Some(error) = input.option(|input| input.text("error"))? {
                outcome = Outcome::Failed { error: Arc::from(error) };
            }
            measurement = input.option(unpack_measurement)?;
        }
        Ok(Self { grant, outcome, duration, measurement })
    }
}

fn pack_measurement(out: &mut Packer<'_>, measured: &Measurement) {
    out.array(7);
    out.float(measured.wall_seconds);
    out.float(measured.cpu_seconds);
    out.uint(measured.peak_rss_bytes);
    out.uint(measured.io_read_bytes);
    out.uint(measured.io_write_bytes);
    out.float(measured.gpu_util_pct);
    out.uint(measured.gpu_mem_bytes);
}

fn unpack_measurement(input: &mut Unpacker<'_>) -> Result<Measurement> {
    input.array_of("measurement", 7)?;
    Ok(Measurement {
        wall_seconds: input.float("wall_seconds")?,
        cpu_seconds: input.float("cpu_seconds")?,
        peak_rss_bytes: input.uint("peak_rss_bytes")?,
        io_read_bytes: input.uint("io_read_bytes")?,
        io_write_bytes: input.uint("io_write_bytes")?,
        gpu_util_pct: input.float("gpu_util_pct")?,
        gpu_mem_bytes: input.uint("gpu_mem_bytes")?,
    })
}
