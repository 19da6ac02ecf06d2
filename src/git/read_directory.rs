//! Lists the names in a directory, one by one, without copying each.

use std::os::fd::BorrowedFd;

use bstr::{BStr, ByteSlice as _};
use rustix::{fs::FileType, io::Result};

/// The buffer for one system call, reused for the next directory.
#[derive(Default)]
pub(super) struct Buffer(#[cfg(any(target_os = "linux", target_os = "android"))] Vec<u8>);

/// Calls `each` with all names in `directory` except `.` and `..`, in no order, and with their types as far as the
/// system call returns them.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn read(
    directory: BorrowedFd<'_>,
    buffer: &mut Buffer,
    mut each: impl FnMut(&BStr, FileType),
) -> Result<()> {
    // Larger than any name, so that the call never fails for lack of space.
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
