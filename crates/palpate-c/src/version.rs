//! What the library is, and the names of its codes.

use crate::error::Status;
use core::ffi::{CStr, c_char};

/// Grows with every change of the header that a compiled program would notice; `PALP_ABI` in the header.
pub const ABI: u32 = 1;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => c"",
};

/// The version of the library as text, such as `0.1.0`. Static memory.
#[expect(unsafe_code, reason = "the name is a promise to the linker; palpate.h has it once")]
#[unsafe(no_mangle)]
pub extern "C" fn palp_version() -> *const c_char {
    VERSION.as_ptr()
}

/// [`ABI`] of the library: to be compared with the header's.
#[expect(unsafe_code, reason = "the name is a promise to the linker; palpate.h has it once")]
#[unsafe(no_mangle)]
pub extern "C" fn palp_abi_version() -> u32 {
    ABI
}

/// The name of a status, such as `PALP_FREED`. Static memory; `PALP_?` for a number that is none.
#[expect(unsafe_code, reason = "the name is a promise to the linker; palpate.h has it once")]
#[unsafe(no_mangle)]
pub extern "C" fn palp_status_name(status: i32) -> *const c_char {
    let found = usize::try_from(status).ok().and_then(|i| Status::ALL.get(i));
    found.map_or(c"PALP_?", |s| s.name()).as_ptr()
}
