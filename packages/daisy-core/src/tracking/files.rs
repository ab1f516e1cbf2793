//! The few file operations of a store, with errors that name the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind as Io, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// What the operating system refused to do with a file of a store, in words that help.
pub(super) fn store_error(doing: &str, path: &Path, error: io::Error) -> Error {
    let advice = match error.kind() {
        Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => {
            "free space on the file system; marks written so far are true, so the run can be resumed"
        }
        Io::PermissionDenied | Io::ReadOnlyFilesystem => {
            "a folder that can be written to, or tracking_path=False"
        }
        _ => "a local or network folder that can be read and written",
    };
    Error::new(ErrorKind::Store, format!("the tracking store cannot be used: {doing} failed"))
        .with_context("path", path.display())
        .with_context("got", &error)
        .with_context("expected", advice)
}

/// The whole of a file, or `None` where there is none.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == Io::NotFound => Ok(None),
        Err(error) => Err(store_error("reading", path, error)),
    }
}

/// Name under which a file is written before it is whole.
pub(super) const UNFINISHED: &str = ".unfinished";

/// Makes `path` hold `bytes`: whole or not at all, whenever the process is killed.
pub(super) fn write_whole(path: &Path, bytes: &[u8], durable: bool) -> Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|error| store_error("making a folder", parent, error))?;
    let unfinished = unfinished(path);
    let written = (|| {
        let mut file = File::create(&unfinished)?;
        file.write_all(bytes)?;
        if durable {
            file.sync_all()?;
        }
        drop(file);
        fs::rename(&unfinished, path)
    })();
    written.map_err(|error| {
        // The unfinished file is only litter, and the first error is the one to tell.
        fs::remove_file(&unfinished).ok();
        store_error("writing", path, error)
    })
}

/// Overwrites a part of an existing file; whether the file was there.
pub(super) fn overwrite(path: &Path, offset: u64, bytes: &[u8]) -> Result<bool> {
    let file = match OpenOptions::new().write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == Io::NotFound => return Ok(false),
        Err(error) => return Err(store_error("opening", path, error)),
    };
    write_at(&file, bytes, offset).map_err(|error| store_error("writing", path, error))?;
    Ok(true)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

/// Asks the operating system to put a file on its disk, if it is there.
pub(super) fn sync(path: &Path) -> Result<()> {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => file.sync_data().map_err(|error| store_error("syncing", path, error)),
        Err(error) if error.kind() == Io::NotFound => Ok(()),
        Err(error) => Err(store_error("opening", path, error)),
    }
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}
