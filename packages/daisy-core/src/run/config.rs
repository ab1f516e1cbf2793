//! What a run is started with.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use crate::marks::MarkSink;
use crate::plan::Pipeline;
use crate::scheduler::{Prior, Settings};

/// Whether the server speaks TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// If it listens anywhere but on loopback.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never: what workers and driver say can be read, and connections can be taken over, by whoever sits between.
    Off,
}

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Address, name or interface to listen on and to tell workers. `None`: 127.0.0.1 if all workers are local, else
    /// every address of this machine.
    pub host: Option<String>,
    /// Ports to choose from, the first free one; `0..=0` leaves the choice to the system.
    pub ports: RangeInclusive<u16>,
    /// Whether every worker runs on this machine.
    pub all_local: bool,
    /// Whether to speak TLS.
    pub encryption: Encryption,
}

impl Default for Listen {
    fn default() -> Self {
        Self { host: None, ports: 0..=0, all_local: true, encryption: Encryption::Auto }
    }
}

/// Everything that a [`super::Run`] needs.
pub struct RunConfig {
    /// What is to be done.
    pub pipeline: Arc<Pipeline>,
    /// Budget and limits.
    pub settings: Settings,
    /// What is done already: an entry per task, or empty.
    pub prior: Vec<Prior>,
    /// Whether workers of a task measure what blocks use: an entry per task, or empty.
    pub measures: Vec<bool>,
    /// Where to listen.
    pub listen: Listen,
    /// How often [`super::Run::snapshot`] is renewed.
    pub observe_every: Duration,
    /// Time between signs of life, on both sides; a connection that is silent for six times that is lost.
    pub heartbeat: Duration,
    /// After how long with no block ended a note says who holds what; `None`: never.
    pub stall_after: Option<Duration>,
    /// Takes note of what is done.
    pub marks: Option<Box<dyn MarkSink>>,
}

impl RunConfig {
    /// A run of this pipeline for workers on this machine, with nothing done before and nothing kept.
    #[must_use]
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        Self {
            pipeline,
            settings: Settings::default(),
            prior: Vec::new(),
            measures: Vec::new(),
            listen: Listen::default(),
            observe_every: Duration::from_millis(200),
            heartbeat: Duration::from_secs(5),
            stall_after: Some(Duration::from_secs(600)),
            marks: None,
        }
    }
}

impl fmt::Debug for RunConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunConfig")
            .field("settings", &self.settings)
            .field("listen", &self.listen)
            .field("has_marks", &self.marks.is_some())
            .finish_non_exhaustive()
    }
}
