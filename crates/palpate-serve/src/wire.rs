//! Messages as they go to the page: a length, a small JSON head, then numbers, little-endian, each array at a multiple of four.

use crate::beat::Health;
use crate::shared::numbers;
use crate::source::Led;
use crate::stage::{Node, Now, Stage};
use serde_json::{Value, json};

/// Most contacts of a snapshot: more cannot be told apart on a screen.
const MOST_MARKS: usize = 400;

/// A message from its head and its numbers.
pub(crate) fn message(head: &Value, floats: &[&[f32]], words: &[&[u32]]) -> Vec<u8> {
    let mut text = head.to_string().into_bytes();
    // JSON may end in spaces.
    text.resize(text.len().next_multiple_of(4), b' ');
    let count: usize =
        floats.iter().map(|f| f.len()).sum::<usize>() + words.iter().map(|w| w.len()).sum::<usize>();
    let mut out = Vec::with_capacity(4 + text.len() + 4 * count);
    out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
    out.extend_from_slice(&text);
    for array in floats {
        array.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
    }
    for array in words {
        array.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
    }
    out
}

/// What a snapshot is made of.
pub(crate) struct Told<'a> {
    pub(crate) number: u64,
    pub(crate) stage: &'a Stage,
    pub(crate) time: f64,
    pub(crate) now: &'a Now,
    pub(crate) nodes: &'a [Node],
    pub(crate) deformed: &'a [(usize, Vec<f32>)],
}

/// A snapshot. Its numbers: contacts of 7 (point, normal, depth), nodes of 6 (centre, radius, colliding, body), then vertices.
pub(crate) fn snapshot(told: &Told<'_>, health: &Health) -> Vec<u8> {
    let now = told.now;
    // Evenly thinned: neighbours in the list are neighbours on the surface.
    let step = now.marks.len().div_ceil(MOST_MARKS).max(1);
    let mut marks = Vec::with_capacity(7 * MOST_MARKS);
    for m in now.marks.iter().step_by(step) {
        marks.extend(m.point.as_vec3().to_array());
        marks.extend(m.normal.as_vec3().to_array());
        marks.push(m.depth as f32);
    }
    let mut nodes = Vec::with_capacity(6 * told.nodes.len());
    for n in told.nodes {
        nodes.extend(n.centre.as_vec3().to_array());
        nodes.push(n.radius as f32);
        nodes.push(f32::from(u8::from(n.colliding)));
        nodes.push(n.body as f32);
    }
    let bodies: Vec<[f64; 7]> = now.bodies.iter().map(numbers).collect();
    let deformed: Vec<[usize; 2]> = told.deformed.iter().map(|(body, v)| [*body, v.len()]).collect();
    let rig = now.rig.map(|r| {
        json!({
            "energy": r.energy, "share": r.share, "by_us": r.missed_by_us, "by_machine": r.missed_by_machine,
            "bad": r.bad_readings, "trips": r.trips, "worst": r.worst,
        })
    });
    let device = match &now.led {
        Led::Hand => Value::Null,
        Led::Opening => json!({ "state": "opening" }),
        Led::Here => json!({ "state": "here" }),
        Led::Lost(why) => json!({ "state": "lost", "words": why }),
    };
    let head = json!({
        "type": "now", "n": told.number, "generation": told.stage.generation, "time": told.time, "bodies": bodies,
        "target": numbers(&now.target), "centre": now.centre.to_array(),
        "force": now.wrench.force.to_array(), "torque": now.wrench.torque.to_array(),
        "contacts": now.marks.len(), "marks": marks.len() / 7, "nodes": nodes.len() / 6, "visited": now.visited,
        "deformed": deformed,
        "most": { "force": health.force, "torque": health.torque, "depth": health.depth, "micros": health.micros },
        "rate": health.rate, "missed": health.missed, "work": health.work,
        "rig": rig, "device": device,
    });
    let mut arrays: Vec<&[f32]> = vec![&marks, &nodes];
    arrays.extend(told.deformed.iter().map(|(_, v)| &**v));
    message(&head, &arrays, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_where_the_head_says() {
        let bytes = message(&json!({ "a": 1 }), &[&[1.5, -2.0]], &[&[7]]);
        let head = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        assert_eq!(head % 4, 0);
        let value: Value = serde_json::from_slice(&bytes[4..4 + head]).unwrap();
        assert_eq!(value["a"], 1);
        assert_eq!(bytes.len(), 4 + head + 12);
        assert_eq!(bytes[4 + head..4 + head + 4], 1.5f32.to_le_bytes());
        assert_eq!(bytes[bytes.len() - 4..], 7u32.to_le_bytes());
    }
}
