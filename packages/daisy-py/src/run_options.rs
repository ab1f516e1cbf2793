//! What both kinds of run are started with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use daisy_core::plan::{Resources, TaskPlan};
use daisy_core::run::{Encryption, Listen, RunConfig};
use daisy_core::scheduler::{Prior, Settings};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::Result;
use crate::pipeline_plan::PipelinePlan;
use crate::tracking::{self, TrackingStore};

/// Where a run listens and what it has; made by `daisy._run_arguments`.
#[pyclass(name = "RunOptions", module = "daisy._core", frozen)]
pub(crate) struct RunOptions {
    resources: Resources,
    host: Option<String>,
    ports: (u16, u16),
    all_local: bool,
    encryption: Encryption,
    masks: Vec<Option<PyBackedBytes>>,
    stores: Vec<Option<Py<TrackingStore>>>,
    measures: Vec<bool>,
    connect_timeout: Duration,
    reconnect_grace: Duration,
    heartbeat: Duration,
    stall_after: Option<Duration>,
}

#[pymethods]
impl RunOptions {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    #[pyo3(signature = (*, resources, host, ports, all_local, tls, masks, stores, measures, connect_timeout, reconnect_grace, heartbeat, stall_after))]
    fn new(
        resources: BTreeMap<String, u64>,
        host: Option<String>,
        ports: (u16, u16),
        all_local: bool,
        tls: Option<bool>,
        masks: Vec<Option<PyBackedBytes>>,
        stores: Vec<Option<Py<TrackingStore>>>,
        measures: Vec<bool>,
        connect_timeout: Duration,
        reconnect_grace: Duration,
        heartbeat: Duration,
        stall_after: Option<Duration>,
    ) -> Self {
        let resources = Resources::new(resources);
        let encryption = match tls {
            None => Encryption::Auto,
            Some(true) => Encryption::On,
            Some(false) => Encryption::Off,
        };
        Self {
            resources,
            host,
            ports,
            all_local,
            encryption,
            masks,
            stores,
            measures,
            connect_timeout,
            reconnect_grace,
            heartbeat,
            stall_after,
        }
    }
}

impl RunOptions {
    /// The configuration of a run of this plan, which takes the tracking stores. Reads what is done and
    /// masked, so not to be called with the interpreter held.
    pub(crate) fn config(&self, plan: &PipelinePlan) -> Result<RunConfig> {
        let mut config = RunConfig::new(Arc::clone(&plan.pipeline));
        config.settings = Settings {
            resources: self.resources.clone(),
            reconnect_grace: self.reconnect_grace,
            connect_timeout: self.connect_timeout,
        };
        config.listen = Listen {
            host: self.host.clone(),
            ports: self.ports.0..=self.ports.1,
            all_local: self.all_local,
            encryption: self.encryption,
        };
        config.measures.clone_from(&self.measures);
        config.heartbeat = self.heartbeat;
        config.stall_after = self.stall_after;
        config.prior = self.prior(plan)?;
        config.marks = tracking::sink(&self.stores)?;
        Ok(config)
    }

    /// What no task has to do: done before, or masked out.
    fn prior(&self, plan: &PipelinePlan) -> Result<Vec<Prior>> {
        let of_task = |(position, task): (usize, &TaskPlan)| {
            let store = self.stores.get(position).and_then(Option::as_ref).map(Py::get);
            let mask = self.masks.get(position).and_then(Option::as_deref);
            tracking::prior(store, mask, task.layout().block_count())
        };
        plan.pipeline.tasks().iter().enumerate().map(of_task).collect()
    }
}
