//! What every reader of HDF5 needs.

use std::fmt::Display;
use std::ops::Range;

use hdf5::plist::file_access::FileAccessBuilder;
use hdf5::types::{FixedAscii, FixedUnicode, VarLenAscii, VarLenUnicode};
use hdf5::{Dataset, File, H5Type};
use ndarray::IxDyn;

pub(crate) type StoredFen = FixedAscii<100>;

/// Bytes of a text attribute. The length is fixed, because HDF5 keeps no checksum of texts of variable length and
/// crashes on damaged ones.
pub(crate) const TEXT: usize = 1000;
pub(crate) type StoredText = FixedUnicode<TEXT>;

/// A child process inherits the lock of an open file, which then could not be reopened while the child lives. No lock
/// is needed, because files are renamed into place and never changed.
pub(crate) fn unlocked(access: &mut FileAccessBuilder) -> &mut FileAccessBuilder {
    access.file_locking(false)
}

pub(crate) fn get<T: H5Type>(file: &File, name: &str) -> hdf5::Result<Vec<T>> {
    file.dataset(name)?.read_raw()
}

/// Some rows of a dataset of shape [n] or [n, 1], or all.
pub(crate) fn rows<T: H5Type>(set: &Dataset, rows: Option<&Range<usize>>) -> hdf5::Result<Vec<T>> {
    let Some(rows) = rows else { return set.read_raw() };
    let read = match set.ndim() {
        1 => set.read_slice::<T, _, IxDyn>((rows.clone(),)),
        _ => set.read_slice((rows.clone(), ..)),
    };
    Ok(read?.into_raw_vec_and_offset().0)
}

/// Like [`rows`], of fixed length, or of variable length as h5py writes them.
pub(crate) fn texts(set: &Dataset, some: Option<&Range<usize>>) -> hdf5::Result<Vec<String>> {
    fn read<T: H5Type>(
        set: &Dataset,
        some: Option<&Range<usize>>,
        text: fn(&T) -> &str,
    ) -> hdf5::Result<Vec<String>> {
        Ok(rows::<T>(set, some)?.iter().map(|value| text(value).to_owned()).collect())
    }
    read::<StoredFen>(set, some, |fen| fen.as_str())
        .or_else(|_| read::<VarLenUnicode>(set, some, |fen| fen.as_str()))
        .or_else(|_| read::<VarLenAscii>(set, some, |fen| fen.as_str()))
        .or_else(|_| read::<FixedUnicode<100>>(set, some, |fen| fen.as_str()))
}

/// Of an attribute; other programs write texts of variable length, or in ASCII.
pub(crate) fn text_attribute(file: &File, name: &str) -> hdf5::Result<String> {
    let attr = file.attr(name)?;
    let fixed = attr.read_scalar::<StoredText>().map(|text| text.as_str().to_owned());
    fixed
        .or_else(|_| attr.read_scalar::<VarLenUnicode>().map(|text| text.as_str().to_owned()))
        .or_else(|_| attr.read_scalar::<VarLenAscii>().map(|text| text.as_str().to_owned()))
        .or_else(|_| attr.read_scalar::<FixedAscii<TEXT>>().map(|text| text.as_str().to_owned()))
}

/// The operating system's message if there is one, or the error's first line.
pub(crate) fn cause(error: &dyn Display) -> String {
    let text = error.to_string();
    let named = text.split_once("error message = '").and_then(|(_, rest)| rest.split_once('\''));
    named.map_or(text.lines().next().unwrap_or_default(), |(message, _)| message).to_owned()
}
