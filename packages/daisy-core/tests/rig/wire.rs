//! A wire between workers and a server that can be cut, or go dead without a word to either side.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use daisy_core::run::Run;

/// Passes bytes between workers and a server; every connection can be cut at once.
pub struct Wire {
    pub address: String,
    /// Bytes that workers have sent to the server.
    pub sent: Arc<AtomicU64>,
    /// Whether what workers send is lost on the way.
    pub swallows: Arc<AtomicBool>,
    /// Connections that were ever made over it.
    pub connections: Arc<AtomicUsize>,
    /// Ways on which nothing passes any more, of the connections with a number below this; sockets stay open.
    dead: Arc<Dead>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

/// Which connections are dead, by direction.
#[derive(Default)]
struct Dead {
    to_server: AtomicUsize,
    to_worker: AtomicUsize,
}

/// The directions in which a wire can go dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    ToServer,
    ToWorker,
    Both,
}

impl Wire {
    pub fn to(run: &Run) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, server) = (listener.local_addr().unwrap().to_string(), run.addresses()[0].clone());
        let wire = Self {
            address,
            sent: Arc::default(),
            swallows: Arc::default(),
            connections: Arc::default(),
            dead: Arc::default(),
            open: Arc::default(),
        };
        let opened = Arc::clone(&wire.open);
        let (counted, swallowed) = (Arc::clone(&wire.sent), Arc::clone(&wire.swallows));
        let (dead, connections) = (Arc::clone(&wire.dead), Arc::clone(&wire.connections));
        std::thread::spawn(move || {
            for worker in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&server) else { continue };
                let number = connections.fetch_add(1, Ordering::SeqCst);
                let both = [worker.try_clone().unwrap(), server.try_clone().unwrap()];
                opened.lock().unwrap().extend(both);
                let (count, swallows, to_server) =
                    (Arc::clone(&counted), Arc::clone(&swallowed), Arc::clone(&dead));
                pass(
                    worker.try_clone().unwrap(),
                    server.try_clone().unwrap(),
                    move |length| {
                        count.fetch_add(length as u64, Ordering::Relaxed);
                        !swallows.load(Ordering::Relaxed)
                    },
                    move || number < to_server.to_server.load(Ordering::SeqCst),
                );
                let to_worker = Arc::clone(&dead);
                pass(server, worker, |_| true, move || number < to_worker.to_worker.load(Ordering::SeqCst));
            }
        });
        wire
    }

    /// Cuts every connection, losing what is under way.
    pub fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }

    /// From now on nothing passes over the connections that there are, not even their end; new ones are well.
    pub fn go_dead(&self, way: Way) {
        self.kill(way, self.connections.load(Ordering::SeqCst));
    }

    /// The same of all connections to come.
    pub fn go_dead_for_good(&self) {
        self.kill(Way::Both, usize::MAX);
    }

    fn kill(&self, way: Way, below: usize) {
        if way != Way::ToWorker {
            self.dead.to_server.store(below, Ordering::SeqCst);
        }
        if way != Way::ToServer {
            self.dead.to_worker.store(below, Ordering::SeqCst);
        }
    }
}

fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    passes: impl Fn(usize) -> bool + Send + 'static,
    is_dead: impl Fn() -> bool + Send + 'static,
) {
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 14];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            if !passes(length) || is_dead() {
                continue;
            }
            if to.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        if !is_dead() {
            to.shutdown(Shutdown::Write).ok();
        }
    });
}
