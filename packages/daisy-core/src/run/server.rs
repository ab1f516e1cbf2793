//! The server's thread: accepts connections, keeps time, listens to the Python side.

use std::cell::RefCell;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc as blocking;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::rustls::ServerConfig;

use super::driver::Driver;
use super::entry::RunEnd;
use super::gate::Gate;
use super::requests::{Note, Request, Told};
use super::stall;
use crate::error::Result;
use crate::scheduler::Now;
use crate::wire::{ServerMessage, Token};

/// Signs of life that may be missed before a connection counts as lost.
const MISSED_HEARTBEATS: u32 = 6;
/// Time for workers to read their dismissal and leave, once the run has ended.
const LEAVE_TIME: Duration = Duration::from_secs(3);
/// Pause after the system had no room for another connection.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(20);
/// Longest time between looks at what is to be done now and then.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// What the server's thread is started with.
pub(super) struct Parts {
    pub(super) driver: Driver,
    pub(super) sockets: Vec<TcpListener>,
    pub(super) token: Token,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) measures: Vec<bool>,
    pub(super) reconnect_grace: Duration,
    pub(super) heartbeat: Duration,
    pub(super) observe_every: Duration,
    pub(super) stall_after: Option<Duration>,
    pub(super) told: mpsc::Receiver<Told>,
    pub(super) end: blocking::Sender<RunEnd>,
}

/// Serves a run to its end.
pub(super) async fn serve(parts: Parts) -> Result<()> {
    let Parts {
        driver,
        sockets,
        token,
        tls,
        measures,
        reconnect_grace,
        heartbeat,
        observe_every,
        stall_after,
        told,
        end,
    } = parts;
    let requests = Arc::clone(&driver.requests);
    let (ended, driver) = (Rc::clone(&driver.ended), Rc::new(RefCell::new(driver)));
    let gate = Rc::new(Gate::new(Rc::clone(&driver), token, tls, measures, reconnect_grace, heartbeat));
    let mut tasks = tokio::task::JoinSet::new();
    for socket in sockets {
        let socket = tokio::net::TcpListener::from_std(socket)?;
        tasks.spawn_local(accept(socket, Rc::clone(&gate)));
    }
    tasks.spawn_local(listen_to(told, Rc::clone(&driver)));
    tasks.spawn_local(keep_time(Rc::clone(&driver)));
    tasks.spawn_local(look_after(Rc::clone(&driver), observe_every, heartbeat, stall_after));
    driver.borrow_mut().start();
    ended.notified().await;
    let facts = driver.borrow_mut().end();
    // Nobody waits for the facts any more if the handle was dropped.
    end.send(facts).ok();
    requests.push(Request::Ended);
    tasks.shutdown().await;
    let_workers_leave(&driver).await;
    Ok(())
}

async fn accept(socket: tokio::net::TcpListener, gate: Rc<Gate>) {
    loop {
        gate.make_room().await;
        match socket.accept().await {
            Ok((stream, peer)) => {
                // Without it frames are only slower.
                stream.set_nodelay(true).ok();
                gate.take(stream, peer.to_string());
            }
            // Mostly: no file descriptor is left. Strangers make room first.
            Err(_) => {
                gate.drop_oldest();
                sleep(NO_ROOM_PAUSE).await;
            }
        }
    }
}

async fn listen_to(mut told: mpsc::Receiver<Told>, driver: Rc<RefCell<Driver>>) {
    while let Some(told) = told.recv().await {
        driver.borrow_mut().take_told(told);
    }
    // The handle on the run is gone: nobody can start or end workers any more.
    driver.borrow_mut().take_told(Told::Cancel);
}

/// Ticks when the scheduler wants it.
async fn keep_time(driver: Rc<RefCell<Driver>>) {
    let rearmed = Rc::clone(&driver.borrow().rearmed);
    loop {
        let (now, deadline) = {
            let mut driver = driver.borrow_mut();
            driver.tick();
            (driver.now(), driver.arm())
        };
        let pause =
            deadline.map_or(LONGEST_SLEEP, |deadline| deadline.saturating_sub(now)).min(LONGEST_SLEEP);
        // Connections come first, even if the scheduler has put work off until it has time.
        tokio::task::yield_now().await;
        timeout(pause, rearmed.notified()).await.ok();
    }
}

/// Does what is to be done now and then.
async fn look_after(
    driver: Rc<RefCell<Driver>>,
    observe_every: Duration,
    heartbeat: Duration,
    stall_after: Option<Duration>,
) {
    let mut beat_at = Instant::now() + heartbeat;
    let mut stalled_at = Now::ZERO;
    loop {
        sleep(observe_every.max(Duration::from_millis(1))).await;
        let driver = driver.borrow();
        driver.board.publish(&driver.scheduler);
        if Instant::now() >= beat_at {
            beat_at = Instant::now() + heartbeat;
            beat(&driver, MISSED_HEARTBEATS * heartbeat);
        }
        let now = driver.now();
        let since = driver.settled_at.max(stalled_at);
        if stall_after.is_some_and(|limit| now >= since + limit) {
            stalled_at = now;
            let report = stall::describe(&driver.scheduler, now, now - driver.settled_at);
            driver.requests.push(Request::Note(Note::Stalled { report }));
        }
    }
}

/// Says to every worker that the server is alive; ends connections that have been silent for too long.
fn beat(driver: &Driver, most_silence: Duration) {
    for (session, outbox) in driver.sessions.connected() {
        if driver.now() > outbox.heard_at.get() + most_silence {
            outbox.cut();
        } else {
            outbox.send(ServerMessage::Heartbeat { reports_seen: session.reports_seen });
        }
    }
}

/// Waits until every connection has ended, for a while: closing sooner could take the dismissal from a worker that
/// is just writing.
async fn let_workers_leave(driver: &Rc<RefCell<Driver>>) {
    for (_, outbox) in driver.borrow().sessions.connected() {
        outbox.send(ServerMessage::Dismiss);
    }
    let until = Instant::now() + LEAVE_TIME;
    while Instant::now() < until && driver.borrow().sessions.connected().next().is_some() {
        sleep(Duration::from_millis(5)).await;
    }
}
