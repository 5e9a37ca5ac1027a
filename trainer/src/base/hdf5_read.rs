//! What every reader of HDF5 needs.

use std::fmt::Display;

use hdf5::plist::file_access::FileAccessBuilder;
use hdf5::types::{FixedAscii, FixedUnicode, VarLenAscii, VarLenUnicode};
use hdf5::{File, H5Type};

pub(crate) type StoredFen = FixedAscii<100>;

/// A child process inherits the lock of an open file, which then could not be reopened while the child lives. No lock
/// is needed, because files are renamed into place and never changed.
pub(crate) fn unlocked(access: &mut FileAccessBuilder) -> &mut FileAccessBuilder {
    access.file_locking(false)
}

pub(crate) fn get<T: H5Type>(file: &File, name: &str) -> hdf5::Result<Vec<T>> {
    file.dataset(name)?.read_raw()
}

/// Of fixed length, or of variable length as h5py writes them.
pub(crate) fn texts(file: &File, name: &str) -> hdf5::Result<Vec<String>> {
    fn read<T: H5Type>(file: &File, name: &str, text: fn(&T) -> &str) -> hdf5::Result<Vec<String>> {
        Ok(get::<T>(file, name)?.iter().map(|value| text(value).to_owned()).collect())
    }
    read::<StoredFen>(file, name, |fen| fen.as_str())
        .or_else(|_| read::<VarLenUnicode>(file, name, |fen| fen.as_str()))
        .or_else(|_| read::<VarLenAscii>(file, name, |fen| fen.as_str()))
        .or_else(|_| read::<FixedUnicode<100>>(file, name, |fen| fen.as_str()))
}

/// The operating system's message if there is one, or the error's first line.
pub(crate) fn cause(error: &dyn Display) -> String {
    let text = error.to_string();
    let named = text.split_once("error message = '").and_then(|(_, rest)| rest.split_once('\''));
    named.map_or(text.lines().next().unwrap_or_default(), |(message, _)| message).to_owned()
}
