//! Named quantities: what a worker needs, what a run has.

use std::collections::BTreeMap;

/// Amounts by name, such as one `gpu`. Used for requirements and for budgets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources(BTreeMap<String, u64>);

impl Resources {
    /// Resources with these amounts; amounts of zero are left out.
    pub fn new(amounts: impl IntoIterator<Item = (String, u64)>) -> Self {
        Self(amounts.into_iter().filter(|(_, amount)| *amount > 0).collect())
    }

    /// The amount of one resource, zero if it is not named.
    #[must_use]
    pub fn amount(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Whether nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and amounts, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    /// Whether this budget, less `used`, still has `requirement`.
    #[must_use]
    pub fn has_left(&self, used: &Self, requirement: &Self) -> bool {
        requirement.iter().all(|(name, amount)| used.amount(name) + amount <= self.amount(name))
    }

    /// Adds every amount of `other`.
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            *self.0.entry(name.to_owned()).or_insert(0) += amount;
        }
    }

    /// Takes away every amount of `other`, never below zero.
    pub fn subtract(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            if let Some(left) = self.0.get_mut(name) {
                *left = left.saturating_sub(amount);
            }
        }
    }
}
