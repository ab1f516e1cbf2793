//! A validated pipeline.

use std::sync::Arc;

use daisy_core::ids::TaskId;
use daisy_core::plan::{Edge, Pipeline};
use pyo3::prelude::*;

use crate::block::TaskPlace;
use crate::errors::Result;
use crate::task_plan::TaskPlan;

/// What `daisy.Pipeline` becomes when something is done with it.
#[pyclass(name = "PipelinePlan", module = "daisy._core", frozen)]
pub(crate) struct PipelinePlan {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) places: Vec<Arc<TaskPlace>>,
}

impl PipelinePlan {
    pub(crate) fn place(&self, task: TaskId) -> &Arc<TaskPlace> {
        &self.places[task.index()]
    }
}

#[pymethods]
impl PipelinePlan {
    #[new]
    fn new(tasks: Vec<Py<TaskPlan>>, edges: Vec<(u32, u32)>) -> Result<Self> {
        let edges: Vec<Edge> = edges
            .into_iter()
            .map(|(up, down)| Edge { upstream: TaskId(up), downstream: TaskId(down) })
            .collect();
        let plans = tasks.iter().map(|task| task.get().plan.clone()).collect();
        let places = tasks.iter().map(|task| Arc::clone(&task.get().place)).collect();
        Ok(Self { pipeline: Arc::new(Pipeline::new(plans, &edges)?), places })
    }

    /// Positions of the tasks in an order in which data flows.
    fn order(&self) -> Vec<u32> {
        self.pipeline.order().iter().map(|task| task.0).collect()
    }
}
