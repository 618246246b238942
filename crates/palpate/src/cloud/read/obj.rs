//! Wavefront OBJ as points: the `v` statements, whether faces use them or not.

use super::{CloudFormat, CloudReadError, Input, RawCloud};
use crate::mesh::Format;
use crate::mesh::text::Text;
use glam::DVec3;

pub(super) fn parse(input: &Input<'_>) -> Result<RawCloud, CloudReadError> {
    /// Lines between two looks at whether to stop.
    const STEP: u32 = 1 << 16;
    input.progress.stage("read points", input.bytes.len() as u64);
    let mut text = Text::new(input.bytes, 0, Format::Obj);
    let mut cloud = RawCloud::default();
    let (mut lines, mut told) = (0u32, 0);
    while text.at < input.bytes.len() {
        if lines.is_multiple_of(STEP) {
            input.stop()?;
            input.progress.advance((text.at - told) as u64);
            told = text.at;
        }
        lines = lines.wrapping_add(1);
        text.skip_blanks();
        // A keyword is a whole word: `vn` and `vt` are others.
        let ends_word =
            matches!(input.bytes.get(text.at + 1), None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'\\'));
        if text.peek() == Some(b'v') && ends_word {
            text.at += 1;
            let mut p = [0.0; 3];
            for (value, name) in p.iter_mut().zip(["x", "y", "z"]) {
                text.skip_blanks();
                *value = text.number(name).map_err(|e| CloudReadError::of_mesh(e, CloudFormat::Obj))?;
            }
            cloud.points.push(DVec3::from_array(p) * input.scale);
        }
        text.skip_joined_line();
    }
    Ok(cloud)
}
