//! The names in a directory, handed over one by one without a copy of each.

use std::os::fd::BorrowedFd;

use bstr::{BStr, ByteSlice as _};
use rustix::{fs::FileType, io::Result};

/// Room for what one system call returns; kept from one directory to the next.
#[derive(Default)]
pub(super) struct Buffer(#[cfg(any(target_os = "linux", target_os = "android"))] Vec<u8>);

/// Calls `each` with all names in `directory` but `.` and `..`, in no order, and what they are if that costs nothing
/// to know.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn read(
    directory: BorrowedFd<'_>,
    buffer: &mut Buffer,
    mut each: impl FnMut(&BStr, FileType),
) -> Result<()> {
    // Larger than any name, so that the call never fails for want of room.
    buffer.0.reserve(32 << 10);
    let mut items = rustix::fs::RawDir::new(directory, buffer.0.spare_capacity_mut());
    while let Some(item) = items.next() {
        let item = item?;
        let name = item.file_name().to_bytes().as_bstr();
        if name != "." && name != ".." {
            each(name, item.file_type());
        }
    }
    Ok(())
}

/// The same for systems without such a call.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn read(directory: BorrowedFd<'_>, _: &mut Buffer, mut each: impl FnMut(&BStr, FileType)) -> Result<()> {
    for item in rustix::fs::Dir::read_from(directory)? {
        let item = item?;
        let name = item.file_name().to_bytes().as_bstr();
        if name != "." && name != ".." {
            each(name, item.file_type());
        }
    }
    Ok(())
}
