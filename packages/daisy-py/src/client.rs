//! A worker's connection: what `daisy.Client` delegates to, and the loop of workers that daisy drives.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use daisy_core::ids::WorkerId;
use daisy_core::scheduler::Outcome;
#[cfg(unix)]
use daisy_core::wire::Terms;
use daisy_core::wire::{Acquired, Grant, Token, WorkerClient, WorkerConfig};
use daisy_core::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::block::{Block, TaskPlace};
use crate::block_call::BlockCall;
use crate::block_stats::BlockStats;
use crate::block_status::{PROCESSING, failure_text};
use crate::errors::{CoreError, Result};
use crate::lifeline::is_fork;

/// How long to wait before Ctrl-C is looked at.
const PATIENCE: Duration = Duration::from_millis(100);

/// A worker's connection to its driver; usable from several threads at once.
#[pyclass(name = "WorkerConnection", module = "daisy._core", frozen)]
pub(crate) struct WorkerConnection {
    client: Arc<WorkerClient>,
    /// Where signals are written; kept so that it stays open.
    #[cfg(unix)]
    signals: Mutex<Option<std::io::PipeWriter>>,
    place: Arc<TaskPlace>,
    /// Blocks that were handed out by `acquire` and not reported on.
    held: Mutex<Vec<(u64, Grant, Instant)>>,
}

impl WorkerConnection {
    /// The next grant; looks at signals while it waits.
    fn next_grant(&self, py: Python<'_>) -> PyResult<Option<Grant>> {
        if let Some(grant) = self.client.try_acquire() {
            return Ok(Some(grant));
        }
        loop {
            match py.detach(|| self.client.acquire_timeout(PATIENCE)).map_err(CoreError::from)? {
                Acquired::Grant(grant) => return Ok(Some(grant)),
                Acquired::Ended => return Ok(None),
                Acquired::TimedOut => py.check_signals()?,
            }
        }
    }
}

#[pymethods]
impl WorkerConnection {
    /// Connects, proves the token of the run, and registers for the task.
    #[new]
    #[pyo3(signature = (*, addresses, token_file, task_id, worker_id, capacity, owns_process))]
    fn new(
        py: Python<'_>,
        addresses: Vec<String>,
        token_file: PathBuf,
        task_id: String,
        worker_id: Option<u64>,
        capacity: u32,
        owns_process: bool,
    ) -> Result<Self> {
        let config = WorkerConfig {
            addresses,
            token: Token::read_file(&token_file)?,
            task: task_id,
            worker: worker_id.map(WorkerId),
            capacity,
            owns_process,
        };
        let client = Arc::new(py.detach(|| WorkerClient::connect(&config))?);
        let place = Arc::new(TaskPlace { name: config.task.into(), layout: client.welcome().layout });
        Ok(Self {
            client,
            #[cfg(unix)]
            signals: Mutex::new(None),
            place,
            held: Mutex::new(Vec::new()),
        })
    }

    /// The id that the driver knows this worker by.
    #[getter]
    fn worker_id(&self) -> u64 {
        self.client.welcome().worker.0
    }

    /// Whether reports should carry measurements.
    #[getter]
    fn measures(&self) -> bool {
        self.client.welcome().measures
    }

    /// The next block, or None if there will be no more.
    fn acquire(&self, py: Python<'_>) -> PyResult<Option<Block>> {
        let Some(grant) = self.next_grant(py)? else { return Ok(None) };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.push((grant.index, grant, Instant::now()));
        Ok(Some(Block::of(&self.place, grant.index, PROCESSING)))
    }

    /// Reports on a block that `acquire` gave; `error` is the text of a failure, None for a success.
    fn report(
        &self,
        py: Python<'_>,
        block: &Block,
        error: Option<String>,
        stats: Option<Py<BlockStats>>,
    ) -> Result<()> {
        if is_fork() {
            return Ok(()); // the worker that this process was forked from reports
        }
        let index = block.index_in(&self.place.layout);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = held.iter().position(|(known, _, _)| Some(*known) == index) else {
            return Err(Error::new(ErrorKind::Refused, "a block was released that is not held")
                .with_context("got", format!("{:?} of task {:?}", block.write(), block.task_name()))
                .with_context("expected", "a block that this client acquired and has not released")
                .into());
        };
        let (_, grant, started) = held.swap_remove(at);
        drop(held);
        let outcome = error.map_or(Outcome::Succeeded, |error| Outcome::Failed { error: error.into() });
        let measurement = stats.map(|stats| stats.get().measurement());
        py.detach(|| self.client.report(grant, outcome, started.elapsed(), measurement))?;
        Ok(())
    }

    /// Calls `function` with each block until there are no more; returns how many.
    ///
    /// `on_failure(block, exception or None, what to say without one)` returns the text that is reported; what it raises ends the loop.
    fn process_blocks(
        &self,
        py: Python<'_>,
        function: Py<PyAny>,
        meter: Option<Py<PyAny>>,
        on_failure: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        let call = BlockCall::new(function, meter);
        let mut count = 0;
        while let Some(grant) = self.next_grant(py)? {
            let mut called = call.call(py, &self.place, grant.index)?;
            let mut text = String::new();
            if !called.succeeded || is_fork() {
                let error = called.error.take().map(|error| error.into_value(py));
                text = on_failure.call1((&called.block, error, failure_text(called.left)))?.extract()?;
            }
            let outcome = called.outcome(|| text);
            self.client
                .report(grant, outcome, called.duration, called.measurement)
                .map_err(CoreError::from)?;
            count += 1;
        }
        Ok(count)
    }

    /// Leaves in time: when one of `signals` is written to the file descriptor that is returned, or `notice` before
    /// `walltime` is over. After a signal the process has `grace` left.
    #[cfg(unix)]
    #[pyo3(signature = (*, walltime, notice, grace, signals))]
    fn watch_notice(
        &self,
        walltime: Option<Duration>,
        notice: Duration,
        grace: Duration,
        signals: Vec<u8>,
    ) -> Result<i32> {
        use std::os::fd::AsRawFd;

        let (reader, writer) = std::io::pipe().map_err(Error::from)?;
        // Whoever writes is a signal handler, which must not wait.
        rustix::io::ioctl_fionbio(&writer, true).map_err(|error| Error::from(std::io::Error::from(error)))?;
        self.client.watch_notice(Terms { walltime, notice, grace, signals }, reader)?;
        let number = writer.as_raw_fd();
        *self.signals.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(number)
    }

    /// Takes no more blocks; those not started go back.
    fn drain(&self, py: Python<'_>) {
        py.detach(|| self.client.drain());
    }

    /// Sends what is left and says good-bye.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.client.close());
    }
}

/// Connects to a driver and has both sides prove the token, and nothing more; returns the seconds that took.
#[pyfunction]
pub(crate) fn check_address(py: Python<'_>, address: String, token_file: PathBuf) -> Result<f64> {
    let token = Token::read_file(&token_file)?;
    Ok(py.detach(|| daisy_core::wire::check_address(&address, &token))?.as_secs_f64())
}
