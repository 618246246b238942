#![no_main]
//! Any bytes as a recording, as they are and with the checksum made right: no panic, and what is read can be used.

use libfuzzer_sys::fuzz_target;
use palpate_view::recording::{Recording, reseal};

fuzz_target!(|bytes: &[u8]| {
    let _ = Recording::from_bytes(bytes);
    let mut sealed = bytes.to_vec();
    reseal(&mut sealed);
    let Ok(recording) = Recording::from_bytes(&sealed) else { return };
    assert!(recording.check().is_ok());
    // What was read is written the same, but for rotations and directions that were not exactly unit.
    if let Ok(again) = recording.to_bytes() {
        assert_eq!(again.len(), sealed.len());
        let again = Recording::from_bytes(&again).expect("what was written is read");
        assert_eq!(again.frames.len(), recording.frames.len());
    }
    let mut table = Vec::new();
    assert!(recording.write_csv(&mut table).is_ok());
    assert_eq!(palpate_view::strip::moments(&recording, 5).len(), recording.frames.len().min(5));
    let _ = recording.reach();
});
