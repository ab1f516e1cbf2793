//! Who holds what since when, for a run in which nothing ends.

use std::fmt::Write;
use std::time::Duration;

use crate::scheduler::{Now, Scheduler, TaskState};

/// Most workers named.
const MOST_WORKERS: usize = 20;

/// A report of several lines.
pub(super) fn describe(scheduler: &Scheduler, now: Now, silence: Duration) -> String {
    let mut text = format!("no block ended for {} s", silence.as_secs());
    let pipeline = scheduler.pipeline();
    for task in pipeline.task_ids() {
        let TaskState::Running(counters) = scheduler.task_state(task) else { continue };
        let upstream: Vec<&str> =
            pipeline.upstream(task).iter().map(|upstream| pipeline.task(*upstream).name()).collect();
        let on = if upstream.is_empty() {
            String::new()
        } else {
            format!(" (reads from {})", upstream.join(", "))
        };
        append(
            &mut text,
            format_args!(
                "\n  task {:?}: {} ready, {} held by workers, {} waiting for other blocks{on}",
                pipeline.task(task).name(),
                counters.ready,
                counters.leased,
                counters.waiting,
            ),
        );
    }
    let mut workers: Vec<_> = scheduler.workers().collect();
    workers.sort_by_key(|view| (view.current.map_or(now, |(_, since)| since), view.worker));
    for view in workers.iter().take(MOST_WORKERS) {
        let name = pipeline.task(view.task).name();
        let state = if view.connected { "" } else { ", not connected" };
        match view.current {
            Some((block, since)) => append(
                &mut text,
                format_args!(
                    "\n  worker {} of {name:?}{state}: block {} since {} s, {} more",
                    view.worker.0,
                    pipeline.task(block.task).layout().block_id(block.index),
                    now.saturating_sub(since).as_secs(),
                    view.held.saturating_sub(1),
                ),
            ),
            None => {
                append(&mut text, format_args!("\n  worker {} of {name:?}{state}: no block", view.worker.0))
            }
        }
    }
    if workers.len() > MOST_WORKERS {
        append(&mut text, format_args!("\n  and {} more workers", workers.len() - MOST_WORKERS));
    }
    text
}

fn append(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    text.write_fmt(line).ok();
}
