//! A run over real sockets, whose workers are threads.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

pub mod beside;
pub mod peer;
pub mod wire;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use daisy_core::geometry::Roi;
use daisy_core::ids::{TaskId, WorkerId};
use daisy_core::plan::{Edge, Fit, Pipeline, TaskOptions, TaskPlan};
use daisy_core::run::{Note, Request, Run, RunConfig, RunEnd, Told};
use daisy_core::scheduler::{Outcome, WorkerExit};
use daisy_core::wire::{Grant, WorkerClient, WorkerConfig};

/// A one-dimensional task of `blocks` blocks of 10, each reading `context` more on either side.
pub fn task(name: &str, blocks: i64, context: i64, options: TaskOptions) -> TaskPlan {
    let total = Roi::new(&[-context], &[10 * blocks + 2 * context]).unwrap();
    let read = Roi::new(&[-context], &[10 + 2 * context]).unwrap();
    let write = Roi::new(&[0], &[10]).unwrap();
    TaskPlan::new(name, total, read, write, Fit::Valid, options).unwrap()
}

/// Options for this many workers.
pub fn workers(max_workers: u32) -> TaskOptions {
    TaskOptions { max_workers, ..TaskOptions::default() }
}

/// A run of tasks in a chain.
pub fn chain(tasks: Vec<TaskPlan>) -> RunConfig {
    let edges: Vec<Edge> = (1..tasks.len() as u32)
        .map(|task| Edge { upstream: TaskId(task - 1), downstream: TaskId(task) })
        .collect();
    RunConfig::new(Arc::new(Pipeline::new(tasks, &edges).unwrap()))
}

/// What a worker does with a block.
pub type Work = Arc<dyn Fn(TaskId, Grant) -> Outcome + Send + Sync>;

/// Does nothing, with success.
pub fn nothing() -> Work {
    Arc::new(|_, _| Outcome::Succeeded)
}

/// A run with its launcher.
pub struct Rig {
    pub run: Arc<Run>,
    names: Vec<String>,
    work: Work,
    threads: Vec<JoinHandle<()>>,
    pub launched: Vec<(TaskId, WorkerId)>,
    pub killed: Vec<WorkerId>,
    pub notes: Vec<Note>,
    /// Blocks that workers ran, over all.
    pub ran: Arc<AtomicU64>,
    /// Called instead of starting a worker, if given.
    pub launch: Option<Box<dyn FnMut(TaskId, WorkerId) + Send>>,
    /// Where workers connect instead of to the server, if given.
    pub reach_through: Option<String>,
}

impl Rig {
    pub fn start(config: RunConfig, work: Work) -> Self {
        let names = config.pipeline.tasks().iter().map(|task| task.name().to_owned()).collect();
        Self {
            run: Arc::new(Run::start(config).unwrap()),
            names,
            work,
            threads: Vec::new(),
            launched: Vec::new(),
            killed: Vec::new(),
            notes: Vec::new(),
            ran: Arc::default(),
            launch: None,
            reach_through: None,
        }
    }

    pub fn config(&self, task: TaskId, worker: Option<WorkerId>) -> WorkerConfig {
        WorkerConfig {
            addresses: match &self.reach_through {
                Some(address) => vec![address.clone()],
                None => self.run.addresses().to_vec(),
            },
            token: self.run.token().clone(),
            task: self.names[task.index()].clone(),
            worker,
            capacity: 64,
            owns_process: false,
        }
    }

    /// Serves requests until `done` says so, or the run ends; fails after a minute.
    pub fn serve_until(&mut self, mut done: impl FnMut(&Self) -> bool) -> bool {
        let until = Instant::now() + Duration::from_secs(60);
        while !done(self) {
            assert!(Instant::now() < until, "the run does not end: {:?}", self.run.snapshot());
            match self.run.next_request(Duration::from_millis(20)) {
                Some(Request::Ended) => return true,
                Some(request) => self.take(request),
                None => {}
            }
        }
        false
    }

    fn take(&mut self, request: Request) {
        match request {
            Request::Launch { task, workers } => {
                for worker in workers {
                    self.launched.push((task, worker));
                    match &mut self.launch {
                        Some(launch) => launch(task, worker),
                        None => self.start_worker(task, Some(worker)),
                    }
                }
            }
            Request::Kill { worker, .. } => self.killed.push(worker),
            Request::Check { block } => self.run.tell(Told::Checked { block, done: block.index % 2 == 0 }),
            Request::Note(note) => self.notes.push(note),
            Request::TaskEnded(_) | Request::Ended => {}
        }
    }

    /// A worker thread that processes blocks until it is dismissed.
    pub fn start_worker(&mut self, task: TaskId, worker: Option<WorkerId>) {
        let (config, run) = (self.config(task, worker), Arc::clone(&self.run));
        let (work, ran) = (Arc::clone(&self.work), Arc::clone(&self.ran));
        self.threads.push(std::thread::spawn(move || {
            let cause = match work_off(&config, task, &work, &ran) {
                Ok(()) => "done".to_owned(),
                Err(error) => error.to_string(),
            };
            if let Some(worker) = worker {
                run.tell(Told::WorkerExited { worker, exit: exit(cause == "done", &cause) });
            }
        }));
    }

    /// Serves the run to its end and waits for its workers.
    pub fn finish(mut self) -> (RunEnd, Vec<Note>) {
        self.serve_until(|_| false);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
        let run = Arc::into_inner(self.run).unwrap();
        (run.join(), self.notes)
    }
}

pub fn exit(clean: bool, cause: &str) -> WorkerExit {
    WorkerExit { clean, outside: false, cause: cause.into(), log_tail: "".into() }
}

fn work_off(config: &WorkerConfig, task: TaskId, work: &Work, ran: &AtomicU64) -> daisy_core::Result<()> {
    let client = WorkerClient::connect(config)?;
    while let Some(grant) = client.acquire()? {
        let started = Instant::now();
        let outcome = work(task, grant);
        ran.fetch_add(1, Ordering::Relaxed);
        client.report(grant, outcome, started.elapsed(), None)?;
    }
    client.close();
    Ok(())
}

/// Counts how often each block ran.
#[derive(Default)]
pub struct Tally(Mutex<std::collections::BTreeMap<(TaskId, u64), u32>>);

impl Tally {
    pub fn note(&self, task: TaskId, index: u64) -> u32 {
        let mut runs = self.0.lock().unwrap();
        let count = runs.entry((task, index)).or_default();
        *count += 1;
        *count
    }

    pub fn runs(&self) -> Vec<u32> {
        self.0.lock().unwrap().values().copied().collect()
    }
}
