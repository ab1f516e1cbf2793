//! What both kinds of run are started with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use daisy_core::geometry::IndexSet;
use daisy_core::plan::Resources;
use daisy_core::run::{Listen, RunConfig};
use daisy_core::scheduler::{Prior, Settings};
use pyo3::prelude::*;

use crate::pipeline_plan::PipelinePlan;

/// Where a run listens and what it has; made by `daisy._run`.
#[pyclass(name = "RunOptions", module = "daisy._core", frozen)]
pub(crate) struct RunOptions {
    resources: Resources,
    host: Option<String>,
    ports: (u16, u16),
    all_local: bool,
    masks: Vec<Option<Vec<u8>>>,
    measures: Vec<bool>,
    connect_timeout: Duration,
    reconnect_grace: Duration,
    stall_after: Option<Duration>,
}

#[pymethods]
impl RunOptions {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    #[pyo3(signature = (*, resources, host, ports, all_local, masks, measures, connect_timeout, reconnect_grace, stall_after))]
    fn new(
        resources: BTreeMap<String, u64>,
        host: Option<String>,
        ports: (u16, u16),
        all_local: bool,
        masks: Vec<Option<Vec<u8>>>,
        measures: Vec<bool>,
        connect_timeout: Duration,
        reconnect_grace: Duration,
        stall_after: Option<Duration>,
    ) -> Self {
        let resources = Resources::new(resources);
        Self {
            resources,
            host,
            ports,
            all_local,
            masks,
            measures,
            connect_timeout,
            reconnect_grace,
            stall_after,
        }
    }
}

impl RunOptions {
    /// The configuration of a run of this plan.
    pub(crate) fn config(&self, plan: &PipelinePlan) -> RunConfig {
        let mut config = RunConfig::new(Arc::clone(&plan.pipeline));
        config.settings = Settings {
            resources: self.resources.clone(),
            reconnect_grace: self.reconnect_grace,
            connect_timeout: self.connect_timeout,
        };
        config.listen =
            Listen { host: self.host.clone(), ports: self.ports.0..=self.ports.1, all_local: self.all_local };
        config.measures.clone_from(&self.measures);
        config.stall_after = self.stall_after;
        config.prior = self
            .masks
            .iter()
            .map(|mask| Prior { done: None, masked: mask.as_deref().map(indices_of_mask) })
            .collect();
        config
    }
}

/// The blocks whose cell is not zero; the length was checked in `Task`.
fn indices_of_mask(cells: &[u8]) -> IndexSet {
    let mut indices = IndexSet::new(cells.len() as u64);
    for (index, _) in cells.iter().enumerate().filter(|(_, cell)| **cell != 0) {
        indices.insert(index as u64);
    }
    indices
}
