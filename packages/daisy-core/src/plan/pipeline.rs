//! A directed acyclic graph of tasks.

use std::collections::HashMap;

use super::TaskPlan;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::TaskId;

/// One task's output that another one reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// The task that writes.
    pub upstream: TaskId,
    /// The task that reads.
    pub downstream: TaskId,
}

/// Validated tasks and edges, with the order in which data flows.
#[derive(Clone, Debug)]
pub struct Pipeline {
    tasks: Vec<TaskPlan>,
    upstream: Vec<Vec<TaskId>>,
    downstream: Vec<Vec<TaskId>>,
    order: Vec<TaskId>,
}

impl Pipeline {
    /// A pipeline of these tasks; [`TaskId`]s are positions in `tasks`.
    ///
    /// # Errors
    /// `InvalidPipeline` for two tasks of one name, an edge to a task that is not there, tasks of
    /// different rank along an edge, or a cycle, which is named.
    pub fn new(tasks: Vec<TaskPlan>, edges: &[Edge]) -> Result<Self> {
        check_names(&tasks)?;
        let mut upstream = vec![Vec::new(); tasks.len()];
        let mut downstream = vec![Vec::new(); tasks.len()];
        let mut edges: Vec<Edge> = edges.to_vec();
        edges.sort_unstable();
        edges.dedup();
        for edge in &edges {
            check_edge(&tasks, edge)?;
            upstream[edge.downstream.index()].push(edge.upstream);
            downstream[edge.upstream.index()].push(edge.downstream);
        }
        let order = flow_order(&tasks, &upstream, &downstream)?;
        Ok(Self { tasks, upstream, downstream, order })
    }

    /// The tasks, by id.
    #[must_use]
    pub fn tasks(&self) -> &[TaskPlan] {
        &self.tasks
    }

    /// One task.
    #[inline]
    #[must_use]
    pub fn task(&self, id: TaskId) -> &TaskPlan {
        &self.tasks[id.index()]
    }

    /// Every task id.
    pub fn task_ids(&self) -> impl Iterator<Item = TaskId> + use<> {
        (0..self.tasks.len() as u32).map(TaskId)
    }

    /// The tasks that this one reads from.
    #[inline]
    #[must_use]
    pub fn upstream(&self, id: TaskId) -> &[TaskId] {
        &self.upstream[id.index()]
    }

    /// The tasks that read from this one.
    #[inline]
    #[must_use]
    pub fn downstream(&self, id: TaskId) -> &[TaskId] {
        &self.downstream[id.index()]
    }

    /// The tasks in an order in which no task comes before one that it reads from; ties by position.
    #[must_use]
    pub fn order(&self) -> &[TaskId] {
        &self.order
    }

    /// The task with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TaskId> {
        self.tasks.iter().position(|task| task.name() == name).map(|position| TaskId(position as u32))
    }
}

fn check_names(tasks: &[TaskPlan]) -> Result<()> {
    let mut seen = HashMap::new();
    for (position, task) in tasks.iter().enumerate() {
        if let Some(first) = seen.insert(task.name(), position) {
            return Err(Error::new(ErrorKind::InvalidPipeline, "duplicate task_id in pipeline")
                .with_context("got", format!("{:?} at positions {first} and {position}", task.name()))
                .with_context("expected", "a task_id of its own for each task"));
        }
    }
    Ok(())
}

fn check_edge(tasks: &[TaskPlan], edge: &Edge) -> Result<()> {
    let (Some(up), Some(down)) = (tasks.get(edge.upstream.index()), tasks.get(edge.downstream.index()))
    else {
        return Err(Error::new(
            ErrorKind::InvalidPipeline,
            "an edge names a task that is not in the pipeline",
        )
        .with_context("got", format!("{} -> {}", edge.upstream.0, edge.downstream.0))
        .with_context("expected", format!("positions below {}", tasks.len())));
    };
    if up.layout().dims() != down.layout().dims() {
        return Err(Error::new(ErrorKind::InvalidPipeline, "tasks along an edge have different ranks")
            .with_context("upstream", format!("{:?} with {} dimensions", up.name(), up.layout().dims()))
            .with_context(
                "downstream",
                format!("{:?} with {} dimensions", down.name(), down.layout().dims()),
            ));
    }
    Ok(())
}

/// Kahn's algorithm; smallest position first among those that are free.
fn flow_order(
    tasks: &[TaskPlan],
    upstream: &[Vec<TaskId>],
    downstream: &[Vec<TaskId>],
) -> Result<Vec<TaskId>> {
    let mut missing: Vec<usize> = upstream.iter().map(Vec::len).collect();
    let mut free: std::collections::BTreeSet<u32> =
        (0..tasks.len()).filter(|task| missing[*task] == 0).map(|task| task as u32).collect();
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(task) = free.pop_first() {
        order.push(TaskId(task));
        for next in &downstream[task as usize] {
            missing[next.index()] -= 1;
            if missing[next.index()] == 0 {
                free.insert(next.0);
            }
        }
    }
    if order.len() == tasks.len() {
        return Ok(order);
    }
    let cycle = find_cycle(&missing, upstream);
    let names: Vec<&str> = cycle.iter().map(|task| tasks[task.index()].name()).collect();
    Err(Error::new(ErrorKind::InvalidPipeline, "pipeline contains a cycle")
        .with_context("got", names.join(" -> "))
        .with_context("expected", "no task that reads from itself through others"))
}

/// Walks upstream among tasks that never became free until one comes again; the walk back is the cycle.
fn find_cycle(missing: &[usize], upstream: &[Vec<TaskId>]) -> Vec<TaskId> {
    let Some(start) = missing.iter().position(|count| *count > 0) else { return Vec::new() };
    let mut path = vec![TaskId(start as u32)];
    loop {
        let last = path[path.len() - 1];
        let Some(next) = upstream[last.index()].iter().find(|task| missing[task.index()] > 0) else {
            return path;
        };
        if let Some(first) = path.iter().position(|task| task == next) {
            let mut cycle = path.split_off(first);
            cycle.push(*next);
            cycle.reverse();
            return cycle;
        }
        path.push(*next);
    }
}
