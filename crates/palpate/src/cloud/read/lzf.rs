//! LZF, the compression of PCD files: literal runs and copies of what came up to 8 KiB before.
//!
//! Based on: the format that liblzf writes.
//! Differs: nothing is written before it is known to fit, and the output grows with what was really decoded.

/// The most that one byte of input can stand for, rounded up: three bytes copy 264.
pub(super) const MOST: usize = 88;

/// Unpacks `input`, which must give exactly `size` bytes; None when it does not.
pub(super) fn unpack(input: &[u8], size: usize) -> Option<Vec<u8>> {
    if size > input.len().saturating_mul(MOST) {
        return None;
    }
    let mut out = Vec::with_capacity(size);
    let mut at = 0;
    while let Some(&control) = input.get(at) {
        at += 1;
        if control < 32 {
            let run = input.get(at..at + usize::from(control) + 1)?;
            if out.len() + run.len() > size {
                return None;
            }
            out.extend_from_slice(run);
            at += run.len();
            continue;
        }
        let mut length = usize::from(control >> 5);
        if length == 7 {
            length += usize::from(*input.get(at)?);
            at += 1;
        }
        length += 2;
        let back = (usize::from(control & 31) << 8) + usize::from(*input.get(at)?) + 1;
        at += 1;
        let from = out.len().checked_sub(back)?;
        if out.len() + length > size {
            return None;
        }
        if length <= back {
            out.extend_from_within(from..from + length);
        } else {
            // The copy reads what it writes: a pattern that repeats.
            for k in from..from + length {
                let byte = *out.get(k)?;
                out.push(byte);
            }
        }
    }
    (out.len() == size).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_copies_unfold() {
        // Four literals, then five bytes from four back (overlapping), then a long copy of 7 + 2 + 3.
        let packed = [3, b'a', b'b', b'c', b'd', 3 << 5, 3, 7 << 5, 3, 0];
        assert_eq!(unpack(&packed, 21).unwrap(), b"abcdabcdaaaaaaaaaaaaa");
        for (cut, size) in [(9, 21), (10, 20), (10, 22), (0, 1), (3, 2)] {
            assert_eq!(unpack(&packed[..cut], size), None, "{cut} {size}");
        }
        assert_eq!(unpack(&[1 << 5, 0], 3), None, "a copy from before the start");
        assert_eq!(unpack(&[], 0).unwrap(), b"");
        assert_eq!(unpack(&[0, 1], usize::MAX), None);
    }
}
