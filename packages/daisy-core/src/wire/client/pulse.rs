//! The thread that does what is to be done when time passes: heartbeats, reports that waited, deadlines.

use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use super::ending;
use super::shared::Shared;
use super::state::{Link, State};
use crate::wire::message::WorkerMessage;

/// Heartbeats of the server that may be missed before the connection counts as lost.
const MISSED_HEARTBEATS: u32 = 6;
/// Time that the driver has to end a worker that is late, before the worker does it itself.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(2);

/// Beats until there is nothing more to do.
pub(super) fn run(shared: &Shared) {
    let mut beat_at = Instant::now() + shared.welcome.heartbeat;
    let mut state = shared.lock();
    while state.end.is_none() {
        let now = Instant::now();
        if let Some(late) = overdue(shared, &state, now) {
            drop(state);
            ending::end_process(ending::TIMED_OUT, &late);
        }
        let flushes = state.flush_at.is_some_and(|at| at <= now);
        if flushes || beat_at <= now {
            state = act(shared, state, flushes, now, &mut beat_at);
            continue;
        }
        let next =
            [state.flush_at, timeout_at(shared, &state)].into_iter().flatten().fold(beat_at, Instant::min);
        state = shared.wait_for_pulse(state, next.saturating_duration_since(now));
    }
}

fn act<'a>(
    shared: &'a Shared,
    state: MutexGuard<'a, State>,
    flushes: bool,
    now: Instant,
    beat_at: &mut Instant,
) -> MutexGuard<'a, State> {
    let silence = now.saturating_duration_since(state.heard_at);
    let link = state.link.clone();
    drop(state);
    if flushes {
        shared.flush();
    }
    if *beat_at <= now {
        *beat_at = now + shared.welcome.heartbeat;
        match link {
            // A peer that is half gone does not end the stream: silence must.
            Link::Up(stream) if silence > MISSED_HEARTBEATS * shared.welcome.heartbeat => stream.end(),
            // If it cannot be sent, the stream has ended and the reader connects again.
            Link::Up(_) => drop(shared.send(&WorkerMessage::Heartbeat)),
            Link::Down => {}
        }
    }
    shared.lock()
}

fn timeout_at(shared: &Shared, state: &State) -> Option<Instant> {
    let timeout = shared.welcome.timeout.filter(|_| shared.config.owns_process)?;
    state.oldest_start()?.checked_add(timeout)?.checked_add(TIMEOUT_MARGIN)
}

fn overdue(shared: &Shared, state: &State, now: Instant) -> Option<String> {
    timeout_at(shared, state).filter(|at| *at <= now)?;
    let limit = shared.welcome.timeout?.as_secs_f64();
    Some(format!("a block took longer than timeout={limit} s"))
}
