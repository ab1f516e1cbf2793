//! Where strangers wait until they have proven that they are none.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{Instant as Until, timeout_at};
use tokio_rustls::rustls::ServerConfig;

use super::arriving::{Admitted, Registration};
use super::connection;
use super::driver::Driver;
use super::handshake::Framed;
use super::requests::{Note, Request};
use super::stream::{Stream, check_opening, secure};
use crate::error::{Error, ErrorKind, Result};
use crate::wire::{ServerMessage, Token, Welcome, append_frame};

/// Connections that may wait here at a time; the system keeps further ones in its queue meanwhile.
const MOST_WAITING: usize = 512;
/// Once the places are taken, who has waited for longer than this loses his: a worker of the run passes within
/// milliseconds, so that a crowd of strangers holds up nobody for long, and a crowd of workers loses nobody.
const PATIENCE: Duration = Duration::from_millis(500);
/// Pause before looking again whether a place is free.
const FULL_PAUSE: Duration = Duration::from_millis(5);
/// Time to pass.
const LIMIT: Duration = Duration::from_secs(5);

/// What every connection needs to know.
pub(super) struct Gate {
    pub(super) driver: Rc<RefCell<Driver>>,
    pub(super) token: Token,
    /// With what to speak TLS, if so.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// Whether workers of a task measure, by task.
    pub(super) measures: Vec<bool>,
    pub(super) reconnect_grace: Duration,
    /// Time between signs of life that workers are asked for.
    pub(super) heartbeat: Duration,
    waiting: RefCell<BTreeMap<u64, Waiting>>,
    arrivals: Cell<u64>,
}

/// A connection that has not passed yet.
struct Waiting {
    since: Instant,
    task: AbortHandle,
}

impl Gate {
    pub(super) fn new(
        driver: Rc<RefCell<Driver>>,
        token: Token,
        tls: Option<Arc<ServerConfig>>,
        measures: Vec<bool>,
        reconnect_grace: Duration,
        heartbeat: Duration,
    ) -> Self {
        let (waiting, arrivals) = (RefCell::default(), Cell::new(0));
        Self { driver, token, tls, measures, reconnect_grace, heartbeat, waiting, arrivals }
    }

    /// Takes a connection that has just been accepted. Runs on the server's thread, in a task of its own.
    pub(super) fn take(self: &Rc<Self>, socket: TcpStream, peer: String) {
        let number = self.arrivals.get();
        self.arrivals.set(number + 1);
        let gate = Rc::clone(self);
        let task = tokio::task::spawn_local(async move {
            let heard = gate.hear(socket, &peer).await;
            // From here on it is a worker of the run, and has no place to lose.
            gate.waiting.borrow_mut().remove(&number);
            let Some((mut framed, registration)) = heard else { return };
            match gate.admit(registration) {
                Ok((admitted, welcome)) => connection::run(framed, admitted, welcome, &gate.driver).await,
                Err(error) => gate.turn_away(&mut framed, &peer, &error).await,
            }
        });
        let waiting = Waiting { since: Instant::now(), task: task.abort_handle() };
        self.waiting.borrow_mut().insert(number, waiting);
    }

    /// Waits until there is a place for one more connection.
    pub(super) async fn make_room(&self) {
        while self.waiting.borrow().len() >= MOST_WAITING {
            let oldest = self.waiting.borrow().first_key_value().map(|(_, waiting)| waiting.since);
            if oldest.is_some_and(|since| since.elapsed() > PATIENCE) {
                self.drop_oldest();
            } else {
                tokio::time::sleep(FULL_PAUSE).await;
            }
        }
    }

    /// Drops the connection that has waited longest.
    pub(super) fn drop_oldest(&self) {
        if let Some((_, oldest)) = self.waiting.borrow_mut().pop_first() {
            oldest.task.abort();
        }
    }

    /// Who the peer says it is, if it knows the token.
    async fn hear(&self, socket: TcpStream, peer: &str) -> Option<(Framed, Registration)> {
        let until = Until::now() + LIMIT;
        let opening = in_time(until, check_opening(&socket, self.tls.is_some())).await;
        let mut framed = match (&self.tls, opening) {
            (Some(config), Ok(())) => match in_time(until, secure(socket, config)).await {
                Ok(stream) => Framed::new(stream),
                // TLS has told it why, as far as it speaks TLS.
                Err(error) => {
                    self.note_refusal(peer, &error);
                    return None;
                }
            },
            (_, opening) => {
                let mut framed = Framed::new(Stream::Plain(socket));
                if let Err(error) = opening {
                    self.turn_away(&mut framed, peer, &error).await;
                    return None;
                }
                framed
            }
        };
        match in_time(until, framed.shake_hands(&self.token)).await {
            Ok(registration) => Some((framed, registration)),
            Err(error) => {
                self.turn_away(&mut framed, peer, &error).await;
                None
            }
        }
    }

    fn note_refusal(&self, peer: &str, error: &Error) {
        let refusal = Note::PeerRefused { peer: peer.to_owned(), reason: error.to_string() };
        self.driver.borrow().requests.push(Request::Note(refusal));
    }

    async fn turn_away(&self, framed: &mut Framed, peer: &str, error: &Error) {
        self.note_refusal(peer, error);
        // It had its time; a second is enough to be told why it was in vain.
        tokio::time::timeout(Duration::from_secs(1), framed.refuse(error)).await.ok();
    }

    /// Registers a worker; what is to be sent to it first. Nothing waits here, so that whoever is registered is served.
    fn admit(&self, registration: Registration) -> Result<(Admitted, Vec<u8>)> {
        let admitted = self.driver.borrow_mut().register(registration)?;
        let (reports_seen, welcome) = (admitted.reports_seen, Box::new(self.welcome(&admitted)));
        let mut frame = Vec::new();
        append_frame(&mut frame, |body| ServerMessage::Welcome { reports_seen, welcome }.pack(body))?;
        Ok((admitted, frame))
    }

    fn welcome(&self, admitted: &Admitted) -> Welcome {
        let driver = self.driver.borrow();
        let plan = driver.scheduler.pipeline().task(admitted.task);
        Welcome {
            worker: admitted.worker,
            layout: *plan.layout(),
            timeout: plan.options().retry.timeout,
            measures: self.measures.get(admitted.task.index()).copied().unwrap_or(false),
            heartbeat: self.heartbeat,
            reconnect_grace: self.reconnect_grace,
        }
    }
}

/// What comes out in time; an error otherwise.
async fn in_time<T>(until: Until, work: impl Future<Output = Result<T>>) -> Result<T> {
    timeout_at(until, work).await.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Protocol, "the handshake took too long")
            .with_context("expected", format!("an end within {} s", LIMIT.as_secs())))
    })
}
