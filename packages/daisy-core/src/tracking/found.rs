//! What lies at the path of a store: ours, a user's, or something to keep our hands off.

use std::fs;
use std::io::ErrorKind as Io;
use std::path::Path;

use serde_json::{Map, Value};

use super::array::not_json;
use super::files::{UNFINISHED, read_if_there, store_error};
use super::identity::{Identity, STORE_VERSION};
use super::lock::LOCK_FILE;
use crate::error::{Error, ErrorKind, Result};

/// Attribute of the group that makes it a store of daisy.
pub(super) const ATTRIBUTE: &str = "daisy";
/// Attribute by which daisy 2.0 marked its stores.
const OLD_ATTRIBUTE: &str = "daisy_task_hash";

/// What is at a path.
#[derive(Debug)]
pub(super) enum Found {
    /// Nothing, an empty folder, a group with nothing in it, or what is left of a store whose making was
    /// interrupted; with the attributes of the group, if there is one.
    Blank(Map<String, Value>),
    /// A store.
    Ours(Box<Identity>),
    /// A store of daisy 2.0, whose cells are counted differently.
    Old,
    /// A group with an array `done` in it, made by a user or another program.
    UserMade,
    /// Anything else, in words.
    Foreign(String),
}

/// Looks at a path and touches nothing.
pub(super) fn look(path: &Path) -> Result<Found> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == Io::NotFound => return Ok(Found::Blank(Map::new())),
        Err(error) if error.kind() == Io::NotADirectory => return Ok(Found::Foreign("a file".to_owned())),
        Err(error) => return Err(store_error("reading", path, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| store_error("reading", path, error))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    let metadata = path.join("zarr.json");
    let Some(bytes) = read_if_there(&metadata)? else {
        return Ok(if is_leftover(path, &names) {
            Found::Blank(Map::new())
        } else {
            Found::Foreign(format!("a folder of other things: {}", few(&mut names)))
        });
    };
    let document: Value =
        serde_json::from_slice(&bytes).map_err(|error| not_json(&metadata, error.to_string()))?;
    group(path, &document, names)
}

fn group(path: &Path, document: &Value, mut names: Vec<String>) -> Result<Found> {
    if document.get("node_type").and_then(Value::as_str) != Some("group") {
        return Ok(Found::Foreign("a Zarr array, not a group".to_owned()));
    }
    let attributes = document.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(ours) = attributes.get(ATTRIBUTE) {
        return identity(path, ours).map(|identity| Found::Ours(Box::new(identity)));
    }
    if attributes.contains_key(OLD_ATTRIBUTE) {
        return Ok(Found::Old);
    }
    if path.join("done").join("zarr.json").is_file() {
        return Ok(Found::UserMade);
    }
    names.retain(|name| name != "zarr.json");
    if is_leftover(path, &names) {
        return Ok(Found::Blank(attributes));
    }
    Ok(Found::Foreign(format!("a Zarr group without an array `done`, but with {}", few(&mut names))))
}

fn identity(path: &Path, attribute: &Value) -> Result<Identity> {
    let version = attribute.get("store_version").and_then(Value::as_u64);
    if version.is_some_and(|version| version > u64::from(STORE_VERSION)) {
        return Err(Error::new(ErrorKind::Store, "the tracking store was written by a newer daisy")
            .with_context("path", path.display())
            .with_context("got", format!("store_version {}", version.unwrap_or(0)))
            .with_context("expected", format!("at most {STORE_VERSION}; upgrade daisy-py")));
    }
    serde_json::from_value(attribute.clone())
        .map_err(|error| not_json(&path.join("zarr.json"), error.to_string()))
}

/// Whether these are what is there when the making of a store is interrupted, or nothing.
fn is_leftover(path: &Path, names: &[String]) -> bool {
    names.iter().all(|name| match name.as_str() {
        "done" => holds_only_a_lock(&path.join("done")),
        other => other == format!("zarr.json{UNFINISHED}"),
    })
}

fn holds_only_a_lock(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.into_iter().all(|entry| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name == LOCK_FILE
                || name.starts_with(&LOCK_FILE.replace(".lock", "."))
                || name == format!("zarr.json{UNFINISHED}")
        })
    })
}

fn few(names: &mut Vec<String>) -> String {
    names.sort();
    let more = names.len().saturating_sub(3);
    names.truncate(3);
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

/// The answer to a run that asks for a path where something else lies.
pub(super) fn foreign(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Store, "the tracking path holds something that is not a tracking store")
        .with_context("path", path.display())
        .with_context("got", what)
        .with_context("expected", "a store of daisy, an empty folder, or a path where nothing is")
}

/// The answer to a store of daisy 2.0.
pub(super) fn old(path: &Path) -> Error {
    Error::new(
        ErrorKind::StoreMismatch,
        "the tracking store was written by daisy 2.0, which counts cells differently",
    )
    .with_context("path", path.display())
    .with_context("expected", "a store of daisy 3, another tracking_path, or Task.reset() to start anew")
}
