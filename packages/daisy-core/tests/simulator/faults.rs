//! What goes wrong, and how often.

/// Probabilities, each per worker or per block as named.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    /// Blocks of which every attempt fails.
    pub(crate) bad_blocks: f64,
    /// Attempts that fail by chance.
    pub(crate) failures: f64,
    /// Attempts in which the worker dies.
    pub(crate) deaths: f64,
    /// Attempts that never end (only in tasks with a timeout).
    pub(crate) hangs: f64,
    /// Attempts in which the connection is lost and comes back, or does not.
    pub(crate) cuts: f64,
    /// Workers that end before they connect, or never do.
    pub(crate) never_connected: f64,
    /// Workers whose launcher does not stay until they end.
    pub(crate) detached: f64,
    /// Attempts after which the worker is preempted.
    pub(crate) drains: f64,
    /// Reclaimed attempts that are reported late all the same.
    pub(crate) late_reports: f64,
    /// Events that cannot be, before each event that can.
    pub(crate) noise: f64,
}

impl Faults {
    pub(crate) const fn none() -> Self {
        Self {
            bad_blocks: 0.0,
            failures: 0.0,
            deaths: 0.0,
            hangs: 0.0,
            cuts: 0.0,
            never_connected: 0.0,
            detached: 0.0,
            drains: 0.0,
            late_reports: 0.0,
            noise: 0.0,
        }
    }

    pub(crate) const fn with_bad_blocks(mut self, share: f64) -> Self {
        self.bad_blocks = share;
        self
    }

    pub(crate) fn random(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0xfa17);
        let mut some = |most: f64| if rng.bool() { rng.f64() * most } else { 0.0 };
        Self {
            bad_blocks: some(0.1),
            failures: some(0.3),
            deaths: some(0.2),
            hangs: some(0.1),
            cuts: some(0.1),
            never_connected: some(0.3),
            drains: some(0.1),
            late_reports: some(1.0),
            noise: some(0.3),
            detached: some(1.0),
        }
    }

    /// The same with one kind of fault less, for each kind that there is.
    pub(crate) fn fewer(&self) -> Vec<Self> {
        let clear: [fn(&mut Self) -> &mut f64; 10] = [
            |faults| &mut faults.noise,
            |faults| &mut faults.late_reports,
            |faults| &mut faults.drains,
            |faults| &mut faults.never_connected,
            |faults| &mut faults.detached,
            |faults| &mut faults.cuts,
            |faults| &mut faults.hangs,
            |faults| &mut faults.deaths,
            |faults| &mut faults.failures,
            |faults| &mut faults.bad_blocks,
        ];
        clear
            .iter()
            .filter_map(|field| {
                let mut fewer = self.clone();
                (std::mem::take(field(&mut fewer)) > 0.0).then_some(fewer)
            })
            .collect()
    }
}
