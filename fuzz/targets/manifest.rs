#![no_main]
//! Any text as `assembly.json` and as `assembly.csv`: no panic, places are finite, and what was read is written and read the same.

use libfuzzer_sys::fuzz_target;

// The reader of files is private to its crate, which reads folders.
#[path = "../../crates/palpate-assembly/src/manifest.rs"]
mod manifest;
use manifest::{Manifest, NAMES};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for name in NAMES {
        let Ok(read) = Manifest::parse(name, text) else { continue };
        let scale = read.scale(1.0).unwrap_or(1.0);
        assert!(scale > 0.0 && scale.is_finite());
        let poses = |m: &Manifest| m.instances.iter().map(|e| e.poses(scale)).collect::<Vec<_>>();
        let found = poses(&read);
        for (start, end) in found.iter().flatten() {
            assert!(start.is_finite() && end.is_none_or(|e| e.is_finite()));
        }
        // Numbers that are not finite have no place in JSON.
        if found.iter().all(Result::is_ok) {
            let written = serde_json::to_string(&read).expect("plain data");
            let again = Manifest::parse(NAMES[0], &written).expect("what was written is read");
            assert_eq!(poses(&again), found);
        }
    }
});
