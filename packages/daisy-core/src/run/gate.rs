//! Where strangers wait until they have proven that they are none.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;

use super::arriving::{Admitted, Registration};
use super::connection;
use super::driver::Driver;
use super::handshake::Framed;
use super::requests::{Note, Request};
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
/// Time between signs of life that workers are asked for.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);

/// What every connection needs to know.
pub(super) struct Gate {
    pub(super) driver: Rc<RefCell<Driver>>,
    pub(super) token: Token,
    /// Whether workers of a task measure, by task.
    pub(super) measures: Vec<bool>,
    pub(super) reconnect_grace: Duration,
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
        measures: Vec<bool>,
        reconnect_grace: Duration,
    ) -> Self {
        let (waiting, arrivals) = (RefCell::default(), Cell::new(0));
        Self { driver, token, measures, reconnect_grace, waiting, arrivals }
    }

    /// Takes a connection that has just been accepted. Runs on the server's thread, in a task of its own.
    pub(super) fn take<S>(self: &Rc<Self>, stream: S, peer: String)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let number = self.arrivals.get();
        self.arrivals.set(number + 1);
        let gate = Rc::clone(self);
        let task = tokio::task::spawn_local(async move {
            let mut framed = Framed::new(stream);
            let heard = gate.hear(&mut framed, &peer).await;
            // From here on it is a worker of the run, and has no place to lose.
            gate.waiting.borrow_mut().remove(&number);
            let Some(registration) = heard else { return };
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
    async fn hear<S>(&self, framed: &mut Framed<S>, peer: &str) -> Option<Registration>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let error = match tokio::time::timeout(LIMIT, framed.shake_hands(&self.token)).await {
            Ok(Ok(registration)) => return Some(registration),
            Ok(Err(error)) => error,
            Err(_) => Error::new(ErrorKind::Protocol, "the handshake took too long")
                .with_context("expected", format!("an end within {} s", LIMIT.as_secs())),
        };
        self.turn_away(framed, peer, &error).await;
        None
    }

    async fn turn_away<S>(&self, framed: &mut Framed<S>, peer: &str, error: &Error)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let refusal = Note::PeerRefused { peer: peer.to_owned(), reason: error.to_string() };
        self.driver.borrow().requests.push(Request::Note(refusal));
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
            heartbeat: HEARTBEAT,
            reconnect_grace: self.reconnect_grace,
        }
    }
}
