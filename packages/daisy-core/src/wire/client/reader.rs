//! The thread that takes what the server sends, and connects again when the connection is lost.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::connect::{has_nobody_listening, reach};
use super::ending;
use super::shared::{CLOSE_LIMIT, Shared};
use super::state::{End, Link, Lost};
use crate::error::{Error, ErrorKind, Result};
use crate::wire::frame::FrameBuffer;
use crate::wire::message::{Grant, ServerMessage};
use crate::wire::stream::Stream;

/// Pauses between attempts to connect again: short at first, for a connection that was just cut.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long nobody may listen on this machine's own address before the driver counts as gone.
const NOBODY_LISTENS: Duration = Duration::from_secs(1);

/// Reads until there is nothing more to read.
pub(super) fn run(shared: &Shared, mut stream: Arc<Stream>, mut frames: FrameBuffer) {
    loop {
        let error = read_all(shared, &stream, &mut frames);
        stream.end();
        shared.lock().link_lost();
        let has_ended = shared.lock().end.is_some();
        let next = if has_ended { leave_again(shared) } else { come_back(shared, error) };
        match next {
            Some((next_stream, next_frames)) => (stream, frames) = (next_stream, next_frames),
            None => return,
        }
    }
}

/// Takes messages until the stream ends; why it ended.
fn read_all(shared: &Shared, stream: &Stream, frames: &mut FrameBuffer) -> Error {
    loop {
        match take_frames(shared, frames) {
            Ok(()) => {}
            Err(error) => return error,
        }
        match stream.read(frames.room()) {
            Ok(0) => match frames.end_of_stream() {
                Ok(()) => {}
                Err(error) => return error,
            },
            Ok(count) => frames.filled(count),
            Err(error) => return error.into(),
        }
    }
}

fn take_frames(shared: &Shared, frames: &mut FrameBuffer) -> Result<()> {
    let mut heard = false;
    while let Some(body) = frames.next_frame()? {
        take(shared, ServerMessage::unpack(body)?)?;
        heard = true;
    }
    if heard {
        shared.lock().heard_at = Instant::now();
    }
    Ok(())
}

fn take(shared: &Shared, message: ServerMessage) -> Result<()> {
    match message {
        ServerMessage::Grants { reports_seen, grants } => {
            shared.lock().acknowledge(reports_seen);
            give(shared, &grants);
        }
        ServerMessage::Heartbeat { reports_seen } => shared.lock().acknowledge(reports_seen),
        ServerMessage::Dismiss => shared.end(End::Dismissed),
        ServerMessage::Kill { reason } => {
            shared.kill();
            if shared.config.owns_process {
                ending::end_process(ending::KILLED, &format!("the driver ended this worker: {reason}"));
            }
        }
        ServerMessage::Refused(refused) => return Err(refused.into()),
        // The server has logged it; nothing changed there, and nothing is to be changed here.
        ServerMessage::ReportRefused { .. } => {}
        ServerMessage::Challenge { .. } | ServerMessage::Proof(_) | ServerMessage::Welcome { .. } => {
            return Err(Error::new(ErrorKind::Protocol, "the server speaks out of order")
                .with_context("expected", "no handshake after the handshake"));
        }
    }
    Ok(())
}

/// Blocks that come while draining go straight back.
fn give(shared: &Shared, grants: &[Grant]) {
    if shared.lock().is_draining() {
        shared.give_back(grants);
    } else {
        shared.push_grants(grants);
    }
}

/// Connects again under the same id, within the grace period; otherwise the driver is gone.
fn come_back(shared: &Shared, error: Error) -> Option<(Arc<Stream>, FrameBuffer)> {
    let lost_at = Instant::now();
    let (mut pause, mut last) = (FIRST_PAUSE, error);
    while !is_final(&last) {
        let grace = shared.welcome.reconnect_grace;
        let is_over = lost_at.elapsed() >= grace;
        let has_ended =
            lost_at.elapsed() >= NOBODY_LISTENS.min(grace) && has_nobody_listening(&shared.config.addresses);
        if is_over || has_ended {
            break;
        }
        match try_again(shared) {
            Ok(registered) => return Some(registered),
            Err(error) => last = error,
        }
        if shared.wait_to_come_back(pause) {
            return None;
        }
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
    let text = format!("the driver is gone: {last}");
    let is_busy = shared.lock().oldest_start().is_some();
    shared.end(End::Gone(Lost { kind: ErrorKind::ConnectionLost, text: text.clone() }));
    if is_busy && shared.config.owns_process {
        ending::end_process(ending::DRIVER_GONE, &text);
    }
    None
}

/// The connection ended before the server has said that the last reports have arrived: they are brought again, for a
/// while. A server that had the good-bye refuses, and then had the reports, too.
fn leave_again(shared: &Shared) -> Option<(Arc<Stream>, FrameBuffer)> {
    let until = Instant::now() + CLOSE_LIMIT.min(shared.welcome.reconnect_grace);
    let mut pause = FIRST_PAUSE;
    while shared.lock().has_left_unheard() && Instant::now() < until {
        match try_again(shared) {
            Ok(registered) => {
                shared.leave_again();
                return Some(registered);
            }
            Err(error) if is_final(&error) || has_nobody_listening(&shared.config.addresses) => return None,
            Err(_) => thread::sleep(pause),
        }
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
    None
}

/// Whether the server will not say anything else next time.
fn is_final(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Refused | ErrorKind::Authentication | ErrorKind::Protocol)
}

fn try_again(shared: &Shared) -> Result<(Arc<Stream>, FrameBuffer)> {
    let proven = reach(&shared.config)?;
    // Nothing can be granted until the registration is answered, so what is held now is all there is.
    let held = shared.lock().held();
    let registered = proven.register(&shared.config, shared.incarnation, held)?;
    let stream = Arc::new(registered.stream);
    {
        let mut state = shared.lock();
        state.acknowledge(registered.reports_seen);
        state.heard_at = Instant::now();
        state.link = Link::Up(Arc::clone(&stream));
    }
    shared.resume();
    Ok((stream, registered.frames))
}
