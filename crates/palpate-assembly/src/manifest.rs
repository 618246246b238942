//! `assembly.json` and `assembly.csv`: which parts are where, and how they move.

use glam::{DQuat, DVec3};
use palpate::Pose;
use palpate::mesh::unit_scale;
use serde::{Deserialize, Serialize};

/// Names of the files, in the order they are looked for.
pub(crate) const NAMES: [&str; 2] = ["assembly.json", "assembly.csv"];

/// An assembly as a file says it. Positions are in its unit.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// Of positions and meshes: `m`, `mm`, `in`; none: what the caller says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<String>,
    pub(crate) instances: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// File of the mesh, relative to the folder.
    pub(crate) part: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) position: [f64; 3],
    /// x, y, z, w.
    #[serde(default = "no_turn")]
    pub(crate) rotation: [f64; 4],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<End>,
}

/// Where a motion ends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    pub(crate) position: [f64; 3],
    /// None: as at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rotation: Option<[f64; 4]>,
}

fn no_turn() -> [f64; 4] {
    [0.0, 0.0, 0.0, 1.0]
}

impl Manifest {
    /// Reads one of the files by its name.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, String> {
        if name.ends_with(".csv") {
            return table(text);
        }
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    /// Metres for each unit of the file.
    pub(crate) fn scale(&self, otherwise: f64) -> Result<f64, String> {
        let Some(unit) = &self.unit else { return Ok(otherwise) };
        unit_scale(unit).ok_or_else(|| format!("unknown unit {unit:?}; use m, cm, mm, um, km, in or ft"))
    }
}

impl Entry {
    /// The places at the start and the end, in metres.
    pub(crate) fn poses(&self, scale: f64) -> Result<(Pose, Option<Pose>), String> {
        let pose = |position: [f64; 3], rotation: [f64; 4]| {
            let (turn, at) = (DQuat::from_array(rotation), scale * DVec3::from_array(position));
            // What is unit stays as it is, to the last bit.
            let unit = (turn.length_squared() - 1.0).abs() <= 4.0 * f64::EPSILON;
            let pose = if unit { Pose { rotation: turn, translation: at } } else { Pose::new(turn, at) };
            let named = self.name.as_ref().unwrap_or(&self.part);
            let problem =
                || format!("{named}: its place has a number that is not finite, or a rotation of no length");
            if pose.is_finite() { Ok(pose) } else { Err(problem()) }
        };
        let to = self.to.as_ref().map(|to| pose(to.position, to.rotation.unwrap_or(self.rotation)));
        Ok((pose(self.position, self.rotation)?, to.transpose()?))
    }
}

/// Reads the table: a head with at least `part`, then a row for each instance.
fn table(text: &str) -> Result<Manifest, String> {
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
    let (_, head) =
        lines.next().ok_or("it is empty; the first row names the columns: part,name,x,y,z,qx,qy,qz,qw")?;
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let known = ["part", "name", "x", "y", "z", "qx", "qy", "qz", "qw"];
    for name in &names {
        if !known.contains(name) && !name.strip_prefix("to_").is_some_and(|n| known[2..].contains(&n)) {
            return Err(format!("unknown column {name:?}; known are {} and to_x to to_qw", known.join(", ")));
        }
    }
    let mut manifest = Manifest::default();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |name: &str| {
            let at = names.iter().position(|n| *n == name)?;
            cells.get(at).copied().filter(|c| !c.is_empty())
        };
        let numbers = |prefix: &str, keys: &[&str]| -> Result<Option<Vec<f64>>, String> {
            let given: Vec<Option<&str>> = keys.iter().map(|k| cell(&format!("{prefix}{k}"))).collect();
            if given.iter().all(Option::is_none) {
                return Ok(None);
            }
            let parsed = given.iter().map(|c| c.and_then(|c| c.parse::<f64>().ok())).collect();
            let problem = || format!("row {}: {prefix}{} must all be numbers", number + 1, keys.join(", "));
            Option::<Vec<f64>>::ok_or_else(parsed, problem).map(Some)
        };
        let three = |v: Vec<f64>| [v[0], v[1], v[2]];
        let four = |v: Vec<f64>| [v[0], v[1], v[2], v[3]];
        let (xyz, turn) = (["x", "y", "z"], ["qx", "qy", "qz", "qw"]);
        let end = numbers("to_", &xyz)?.map(three);
        let end_turn = numbers("to_", &turn)?.map(four);
        let position = numbers("", &xyz)?.map_or([0.0; 3], three);
        let moves = end.is_some() || end_turn.is_some();
        manifest.instances.push(Entry {
            part: cell("part").ok_or_else(|| format!("row {} has no part", number + 1))?.to_owned(),
            name: cell("name").map(str::to_owned),
            position,
            rotation: numbers("", &turn)?.map_or_else(no_turn, four),
            to: moves.then(|| End { position: end.unwrap_or(position), rotation: end_turn }),
        });
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_json_say_the_same() {
        let csv = "part,name,x,y,z,qx,qy,qz,qw,to_x,to_y,to_z\na.stl,left,1,2,3,0,0,1,0,,,\nb.stl,,0,0,0,,,,,4,5,6\n";
        let json = r#"{"instances":[{"part":"a.stl","name":"left","position":[1,2,3],"rotation":[0,0,1,0]},
            {"part":"b.stl","to":{"position":[4,5,6]}}]}"#;
        let [x, y] = [Manifest::parse("assembly.csv", csv), Manifest::parse("assembly.json", json)];
        let poses = |m: Manifest| m.instances.iter().map(|e| e.poses(1e-3)).collect::<Vec<_>>();
        let (x, y) = (poses(x.unwrap()), poses(y.unwrap()));
        assert_eq!(x, y);
        assert_eq!(x[1].as_ref().unwrap().1.unwrap().translation, DVec3::new(4e-3, 5e-3, 6e-3));
    }

    #[test]
    fn wrong_files_say_what_is_wrong() {
        for (name, text, word) in [
            ("assembly.csv", "", "empty"),
            ("assembly.csv", "part,colour\n", "colour"),
            ("assembly.csv", "part,x,y,z\na.stl,1,two,3\n", "row 2"),
            ("assembly.csv", "name\nleft\n", "no part"),
            ("assembly.json", "{\"instances\":[{\"part\":1}]}", "string"),
            ("assembly.json", "{\"instances\":[],\"untis\":\"mm\"}", "untis"),
        ] {
            let problem = Manifest::parse(name, text).unwrap_err();
            assert!(problem.contains(word), "{problem}");
        }
        let nowhere = r#"{"instances":[{"part":"a.stl","rotation":[0,0,0,0]}]}"#;
        assert!(Manifest::parse("assembly.json", nowhere).unwrap().instances[0].poses(1.0).is_err());
    }
}
