//! One operation over one total ROI.

use std::time::Duration;

use super::{BlockLayout, Fit, Resources};
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::Roi;

/// How often failures are forgiven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts of a block after its first.
    pub max_retries: u32,
    /// Deaths of workers in a row, with no block completed between, that are replaced.
    pub max_worker_restarts: u32,
    /// Blocks that fail for good before any succeeded, after which the task is abandoned; `None`: never.
    pub give_up_after: Option<u64>,
    /// Time one attempt may take; `None`: no limit.
    pub timeout: Option<Duration>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_retries: 2, max_worker_restarts: 10, give_up_after: Some(50), timeout: None }
    }
}

/// Settings of a task besides its geometry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOptions {
    /// Whether a block may not run while another writes what it reads.
    pub read_write_conflict: bool,
    /// Most workers of the task at a time.
    pub max_workers: u32,
    /// How often failures are forgiven.
    pub retry: RetryPolicy,
    /// What each worker of the task needs of the run's budget.
    pub requires: Resources,
    /// Whether the driver must be asked about each block before it runs (`check_function`).
    pub checked: bool,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self {
            read_write_conflict: true,
            max_workers: 1,
            retry: RetryPolicy::default(),
            requires: Resources::default(),
            checked: false,
        }
    }
}

/// A validated task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskPlan {
    name: String,
    layout: BlockLayout,
    options: TaskOptions,
}

impl TaskPlan {
    /// A task named `name` whose blocks have this read and write ROI and tile `total`.
    ///
    /// # Errors
    /// `InvalidArgument` for an unusable name, ROIs that do not fit together or no workers; `Overflow`
    /// for layouts that do not fit in 63 bits.
    pub fn new(
        name: &str,
        total: Roi,
        read: Roi,
        write: Roi,
        fit: Fit,
        options: TaskOptions,
    ) -> Result<Self> {
        check_name(name)?;
        if options.max_workers == 0 {
            return Err(Error::new(ErrorKind::InvalidArgument, "max_workers is too small")
                .with_context("task", name)
                .with_context("got", 0)
                .with_context("expected", "at least 1"));
        }
        if options.retry.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(Error::new(ErrorKind::InvalidArgument, "timeout is too small")
                .with_context("task", name)
                .with_context("got", "0 s")
                .with_context("expected", "more than 0 seconds, or None for no limit"));
        }
        let layout =
            BlockLayout::new(total, read, write, fit).map_err(|error| error.with_context("task", name))?;
        Ok(Self { name: name.to_owned(), layout, options })
    }

    /// The name the user gave.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its blocks are.
    #[inline]
    #[must_use]
    pub const fn layout(&self) -> &BlockLayout {
        &self.layout
    }

    /// Settings besides the geometry.
    #[inline]
    #[must_use]
    pub const fn options(&self) -> &TaskOptions {
        &self.options
    }
}

/// Task names become names of folders, so they must be one path component.
fn check_name(name: &str) -> Result<()> {
    let problem = if name.is_empty() {
        "is empty"
    } else if name.trim().is_empty() {
        "is blank"
    } else if name == "." || name == ".." {
        "is a relative path"
    } else if name.contains(['/', '\\']) {
        "has a path separator"
    } else if name.contains('\0') || name.chars().any(char::is_control) {
        "has a control character"
    } else if name.len() > 200 {
        "is longer than 200 bytes"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidArgument, format!("task_id {problem}"))
        .with_context("got", format!("{name:?}"))
        .with_context("expected", "a name that can be the name of a folder"))
}
