//! The border between C and Rust: pointers become values only after they were checked, and no panic goes through.
//!
//! Arguments of exported functions are the types here, each one pointer wide. C makes them by calling; Rust makes them from
//! references. What palpate.h asks of the caller (a pointer is null or points to as much memory as said) is all they rely on; Rust
//! code that calls, such as tests, owes the same: a count beside a list is that of its slice, or less.

#![expect(
    unsafe_code,
    reason = "memory that C owns is read and written here, and nowhere else in this crate"
)]

use crate::error::{Error, Failure, Status};
use bytemuck::AnyBitPattern;
use core::ffi::{CStr, c_char};
use core::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// A value that is read: null, or a `T` in memory that the caller keeps as it is during the call. Any alignment.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct In<'a, T>(*const T, PhantomData<&'a T>);

/// A value that is written: null, or memory for a `T` that nothing else uses during the call. Any alignment.
#[derive(Debug)]
#[repr(transparent)]
pub struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

/// The first of several values that are read; how many is another argument.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct List<'a, T>(*const T, PhantomData<&'a T>);

/// The first of several values that are written; for how many there is room is another argument.
#[derive(Debug)]
#[repr(transparent)]
pub struct Room<'a, T>(*mut T, PhantomData<&'a mut T>);

/// Text closed by a zero, or null.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text<'a>(*const c_char, PhantomData<&'a c_char>);

/// An [`Out`] that is not null.
#[derive(Debug)]
pub(crate) struct Place<'a, T>(*mut T, PhantomData<&'a mut T>);

fn null(name: &str) -> Failure {
    Failure::new(Status::NullPointer, format!("{name} is null"))
}

impl<'a, T> In<'a, T> {
    /// Null.
    pub const NULL: Self = Self(core::ptr::null(), PhantomData);
}

impl<'a, T: AnyBitPattern> In<'a, T> {
    /// The value.
    pub(crate) fn get(self, name: &str) -> Result<T, Failure> {
        self.optional().ok_or_else(|| null(name))
    }

    /// The value; none for null.
    pub(crate) fn optional(self) -> Option<T> {
        // SAFETY: not null, hence a `T` by the type's contract, and every bit pattern is one.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }
}

impl<'a, T> From<&'a T> for In<'a, T> {
    fn from(value: &'a T) -> Self {
        Self(value, PhantomData)
    }
}

impl<'a, T> Out<'a, T> {
    /// Null.
    pub const NULL: Self = Self(core::ptr::null_mut(), PhantomData);

    /// The place, if there is one: asked before any work is done.
    pub(crate) fn ready(self, name: &str) -> Result<Place<'a, T>, Failure> {
        self.optional().ok_or_else(|| null(name))
    }

    /// The place; none for null.
    pub(crate) fn optional(self) -> Option<Place<'a, T>> {
        (!self.0.is_null()).then_some(Place(self.0, PhantomData))
    }
}

impl<'a, T> From<&'a mut T> for Out<'a, T> {
    fn from(value: &'a mut T) -> Self {
        Self(value, PhantomData)
    }
}

impl<T: Copy> Place<'_, T> {
    pub(crate) fn put(&mut self, value: T) {
        // SAFETY: not null, hence memory for a `T` by the contract of `Out`.
        unsafe { self.0.write_unaligned(value) }
    }
}

impl<T: AnyBitPattern> Place<'_, T> {
    /// What is there.
    pub(crate) fn get(&self) -> T {
        // SAFETY: not null, hence memory for a `T` by the contract of `Out`, and every bit pattern is one.
        unsafe { self.0.read_unaligned() }
    }
}

/// Refuses what no memory can be: too many values, or a place they cannot be at.
fn check_list<T>(at: *const T, count: usize, name: &str) -> Result<(), Failure> {
    if at.is_null() {
        return Err(null(name));
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Failure::argument(format!("{name} has {count} values, more than memory can hold")));
    }
    if !at.is_aligned() {
        let need = align_of::<T>();
        return Err(Failure::argument(format!("{name} is at {at:p}, which is no multiple of {need} bytes")));
    }
    Ok(())
}

impl<'a, T> List<'a, T> {
    /// Null.
    pub const NULL: Self = Self(core::ptr::null(), PhantomData);
}

impl<'a, T: AnyBitPattern> List<'a, T> {
    /// The values; null is allowed for none.
    pub(crate) fn get(self, count: usize, name: &str) -> Result<&'a [T], Failure> {
        if count == 0 {
            return Ok(&[]);
        }
        check_list(self.0, count, name)?;
        // SAFETY: not null, aligned, no larger than memory, and `count` values by the type's contract.
        Ok(unsafe { core::slice::from_raw_parts(self.0, count) })
    }
}

impl<'a, T> From<&'a [T]> for List<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Self(values.as_ptr(), PhantomData)
    }
}

impl<'a, T> Room<'a, T> {
    /// Null.
    pub const NULL: Self = Self(core::ptr::null_mut(), PhantomData);

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes values one after another into room for `capacity` of them; null is allowed for none.
    pub(crate) fn writer(self, capacity: usize, name: &str) -> Result<Writer<'a, T>, Failure> {
        if capacity > 0 {
            check_list(self.0, capacity, name)?;
        }
        Ok(Writer { at: self.0, capacity, count: 0, room: PhantomData })
    }
}

impl<'a, T> From<&'a mut [T]> for Room<'a, T> {
    fn from(values: &'a mut [T]) -> Self {
        Self(values.as_mut_ptr(), PhantomData)
    }
}

/// Room that is being filled. It may not be initialised: it is only written.
#[derive(Debug)]
pub(crate) struct Writer<'a, T> {
    at: *mut T,
    capacity: usize,
    count: usize,
    room: PhantomData<&'a mut T>,
}

impl<T: Copy> Writer<'_, T> {
    /// Writes a value, if there is room, and counts it.
    pub(crate) fn push(&mut self, value: T) {
        if self.count < self.capacity {
            // SAFETY: `writer` has checked that there is room for `capacity` values.
            unsafe { self.at.add(self.count).write(value) }
        }
        self.count += 1;
    }

    /// How many values there were, and whether they had room. Asking with no room at all is how a caller learns how many.
    pub(crate) fn end(self, count: Out<'_, usize>, name: &str) -> Result<(), Failure> {
        if let Some(mut count) = count.optional() {
            count.put(self.count);
        }
        if self.count > self.capacity && self.capacity > 0 {
            let (n, room) = (self.count, self.capacity);
            return Err(Failure::new(Status::TooSmall, format!("{name} has room for {room} of {n} values")));
        }
        Ok(())
    }
}

impl<'a> Text<'a> {
    /// Null.
    pub const NULL: Self = Self(core::ptr::null(), PhantomData);

    fn bytes(self, name: &str) -> Result<&'a [u8], Failure> {
        if self.0.is_null() {
            return Err(null(name));
        }
        // SAFETY: not null, hence text closed by a zero by the type's contract.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }

    /// The text; it must be UTF-8.
    pub(crate) fn get(self, name: &str) -> Result<&'a str, Failure> {
        let bytes = self.bytes(name)?;
        core::str::from_utf8(bytes)
            .map_err(|e| Failure::argument(format!("{name} is not UTF-8 from byte {}", e.valid_up_to())))
    }

    /// A path: on Unix any bytes, elsewhere UTF-8.
    pub(crate) fn path(self, name: &str) -> Result<&'a Path, Failure> {
        #[cfg(unix)]
        let path = {
            use std::os::unix::ffi::OsStrExt;
            Path::new(std::ffi::OsStr::from_bytes(self.bytes(name)?))
        };
        #[cfg(not(unix))]
        let path = Path::new(self.get(name)?);
        if path.as_os_str().is_empty() {
            return Err(Failure::argument(format!("{name} is empty")));
        }
        Ok(path)
    }
}

impl<'a> From<&'a CStr> for Text<'a> {
    fn from(text: &'a CStr) -> Self {
        Self(text.as_ptr(), PhantomData)
    }
}

/// Runs the body of an exported function: its failure, or its panic, becomes a code and a message.
pub(crate) fn guard(error: Out<'_, Error>, body: impl FnOnce() -> Result<(), Failure>) -> i32 {
    // A panic may leave an object half changed: its memory is sound, and the next query begins anew.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => {
            if !error.0.is_null() {
                // SAFETY: not null, hence memory for an `Error` by the contract of `Out`; fields of it are in it.
                unsafe {
                    (&raw mut (*error.0).code).write_unaligned(Status::Ok as i32);
                    (&raw mut (*error.0).message).cast::<u8>().write(0);
                }
            }
            return Status::Ok as i32;
        }
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let failure =
                Failure::new(Status::Panic, format!("a fault in palpate, please report it: {said}"));
            // What a panic carries may panic again when it is dropped.
            core::mem::forget(panic);
            failure
        }
    };
    if let Some(mut place) = error.optional() {
        place.put(Error { code: failure.status as i32, message: failure.bytes() });
    }
    failure.status as i32
}

/// Declares functions of the ABI: each returns a status, takes an error last, and lets no panic through.
macro_rules! export {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $kind:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[expect(unsafe_code, reason = "the name is a promise to the linker; palpate.h has it once")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $kind,)* error: $crate::border::Out<'_, $crate::error::Error>) -> i32 {
            $crate::border::guard(error, move || -> Result<(), $crate::error::Failure> { $body })
        }
    )*};
}
pub(crate) use export;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_codes() {
        let mut error = Error::default();
        let code = guard((&mut error).into(), || panic!("seven is {}", 8));
        assert_eq!((code, error.code), (Status::Panic as i32, Status::Panic as i32));
        assert!(error.text().ends_with("seven is 8"), "{}", error.text());
        // The next call clears the message.
        assert_eq!(guard((&mut error).into(), || Ok(())), 0);
        assert_eq!((error.code, error.text()), (0, String::new()));
        // Other payloads, and no place for a message.
        assert_eq!(guard(Out::NULL, || std::panic::panic_any(3)), Status::Panic as i32);
    }

    #[test]
    fn lists_are_checked() {
        let values = [1u32, 2, 3];
        let list = List::from(&values[..]);
        assert_eq!(list.get(3, "x").unwrap(), [1, 2, 3]);
        assert!(List::<u32>::NULL.get(0, "x").unwrap().is_empty());
        assert_eq!(List::<u32>::NULL.get(1, "x").unwrap_err().status, Status::NullPointer);
        assert_eq!(list.get(usize::MAX / 2, "x").unwrap_err().status, Status::BadArgument);
        let odd = List::<u32>(values.as_ptr().wrapping_byte_add(1), PhantomData);
        assert_eq!(odd.get(1, "x").unwrap_err().status, Status::BadArgument);
    }
}
