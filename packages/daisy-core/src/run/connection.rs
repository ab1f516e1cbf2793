//! The connection of a registered worker: reads what it says, writes what is in its outbox.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::arriving::Admitted;
use super::driver::Driver;
use super::handshake::Framed;
use super::outbox::Outbox;
use super::stream::Stream;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::WorkerId;
use crate::scheduler::Event;
use crate::wire::{FrameBuffer, WorkerMessage};

/// Bytes that may wait for a worker that does not read, before nothing more is taken from it.
const MOST_UNWRITTEN: usize = 1 << 20;

/// Serves a worker until its connection ends, and tells the driver so; `first` is sent before all else.
pub(super) async fn run(framed: Framed, admitted: Admitted, first: Vec<u8>, driver: &Rc<RefCell<Driver>>) {
    let (worker, number) = (admitted.worker, admitted.outbox.connection);
    let outbox = Rc::clone(&admitted.outbox);
    let mut connection = Connection {
        stream: framed.stream,
        frames: framed.frames,
        worker,
        reports_seen: admitted.reports_seen,
        outbox: admitted.outbox,
        unwritten: first,
        written: 0,
        must_flush: false,
    };
    // Why it ended is of no interest: if the worker was not done, the scheduler gives it time to come back.
    tokio::select! {
        biased;
        () = outbox.until_cut() => {}
        _ = connection.serve(driver) => {}
    }
    driver.borrow_mut().disconnect(worker, number);
}

struct Connection {
    stream: Stream,
    frames: FrameBuffer,
    worker: WorkerId,
    reports_seen: u64,
    outbox: Rc<Outbox>,
    unwritten: Vec<u8>,
    written: usize,
    /// Whether the stream may still have something of what was written: TLS keeps what the socket does not take.
    must_flush: bool,
}

/// What happened on a connection.
enum Happened {
    /// This many bytes came; none is the end of the stream.
    Read(usize),
    /// This many bytes left.
    Wrote(usize),
    /// The outbox has something.
    Filled,
}

impl Connection {
    async fn serve(&mut self, driver: &Rc<RefCell<Driver>>) -> Result<()> {
        // A worker may speak before it has heard that it is welcome.
        self.take_frames(driver)?;
        loop {
            if self.unwritten.is_empty() {
                self.outbox.pack(self.reports_seen, &mut self.unwritten)?;
                if self.unwritten.is_empty() && self.outbox.is_finished() {
                    return Ok(self.stream.shutdown().await?);
                }
            }
            match poll_fn(|context| self.poll_any(context)).await? {
                Happened::Read(0) => return self.frames.end_of_stream(),
                Happened::Read(count) => {
                    self.frames.filled(count);
                    self.take_frames(driver)?;
                }
                Happened::Wrote(count) => self.note_written(count),
                Happened::Filled => {}
            }
        }
    }

    /// Writes before it reads: what a worker waits for goes first.
    fn poll_any(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Happened>> {
        if self.written < self.unwritten.len() {
            let waiting = &self.unwritten[self.written..];
            if let Poll::Ready(wrote) = Pin::new(&mut self.stream).poll_write(context, waiting) {
                return Poll::Ready(wrote.and_then(|count| match count {
                    0 => Err(io::ErrorKind::WriteZero.into()),
                    count => Ok(Happened::Wrote(count)),
                }));
            }
            if self.unwritten.len() - self.written > MOST_UNWRITTEN {
                return Poll::Pending;
            }
        } else if self.outbox.poll(context) {
            return Poll::Ready(Ok(Happened::Filled));
        } else if self.must_flush && Pin::new(&mut self.stream).poll_flush(context)?.is_ready() {
            self.must_flush = false;
        }
        let mut room = ReadBuf::new(self.frames.room());
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut room))?;
        Poll::Ready(Ok(Happened::Read(room.filled().len())))
    }

    fn note_written(&mut self, count: usize) {
        self.must_flush = true;
        self.written += count;
        if self.written == self.unwritten.len() {
            self.unwritten.clear();
            self.written = 0;
        }
    }

    /// Takes every whole frame, then writes the answers to all of them at once.
    fn take_frames(&mut self, driver: &Rc<RefCell<Driver>>) -> Result<()> {
        if self.outbox.is_finished() {
            // Its worker is here over another connection, or has been given up: what it said is said again there,
            // or counts no more.
            return self.frames.end_of_stream();
        }
        let mut driver = driver.borrow_mut();
        self.outbox.heard_at.set(driver.now());
        while let Some(body) = self.frames.next_frame()? {
            match WorkerMessage::unpack(body)? {
                WorkerMessage::Reports(reports) => {
                    self.reports_seen += reports.len() as u64;
                    driver.take_reports(self.worker, reports);
                }
                WorkerMessage::Return(indices) => driver.take_back(self.worker, &indices),
                WorkerMessage::Draining => driver.feed(Event::WorkerDraining { worker: self.worker }),
                WorkerMessage::Ready { capacity } => driver.take_ready(self.worker, capacity),
                WorkerMessage::Heartbeat => {}
                WorkerMessage::Goodbye => driver.take_leave(self.worker),
                WorkerMessage::Hello { .. }
                | WorkerMessage::Proof { .. }
                | WorkerMessage::Register { .. } => {
                    return Err(Error::new(ErrorKind::Protocol, "the worker speaks out of order")
                        .with_context("expected", "no handshake after the handshake"));
                }
            }
        }
        Ok(())
    }
}
