//! What the Haply Inverse Service says and is told: JSON of service 3.5, and of 3.1 where it differs.
//!
//! Haply's frame: right-handed, x to the right, y forward, z up, seen from the user; metres, newtons. Only what the loop needs is
//! read; unknown fields are passed over.

use std::fmt::{self, Write as _};

use glam::{DQuat, DVec3};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// No cursor is farther from the device than this [m].
const FARTHEST: f64 = 10.0;
/// No cursor is faster than this [m/s].
const FASTEST: f64 = 1e3;

/// How `set_cursor_force` names its vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// As the service's version has it, which is asked for at the start; `vector` where it is not told.
    #[default]
    ByVersion,
    /// `vector`: services 3.5 and newer.
    Vector,
    /// `values`: older ones.
    Values,
}

/// An Inverse3 as a message tells it, in Haply's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Inverse {
    /// Its name at the service.
    pub id: String,
    /// Of the cursor [m].
    pub position: Option<DVec3>,
    /// Of the cursor [m/s].
    pub velocity: Option<DVec3>,
    /// Whether it knows where its arms are. None: not told.
    pub calibrated: Option<bool>,
}

/// A grip as a message tells it, in Haply's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Grip {
    /// Its name at the service.
    pub id: String,
    /// `device_from_grip`, unit.
    pub orientation: Option<DQuat>,
    /// Those that are held: a, b, c or `button_0` to `button_31`, a bit each from the lowest.
    pub buttons: u32,
}

/// One message of the service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Devices with arms.
    pub inverses: Vec<Inverse>,
    /// Grips: wireless ones first, then those on a wire, then others.
    pub grips: Vec<Grip>,
}

impl Message {
    /// Reads any bytes; what is wrong with them is told in words. Every number that comes out is finite.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let wire: Wire = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let mut message = Self::default();
        for device in wire.inverse3.unwrap_or_default() {
            let state = device.state.unwrap_or_default();
            message.inverses.push(Inverse {
                position: state.cursor_position.map(|v| v.within("cursor_position", FARTHEST)).transpose()?,
                velocity: state.cursor_velocity.map(|v| v.within("cursor_velocity", FASTEST)).transpose()?,
                calibrated: device.status.and_then(|s| s.calibrated),
                id: device.device_id,
            });
        }
        let grips = [wire.wireless_verse_grip, wire.verse_grip, wire.custom_verse_grip];
        for grip in grips.into_iter().flatten().flatten() {
            let state = grip.state.unwrap_or_default();
            message.grips.push(Grip {
                orientation: state.orientation.map(|q| q.unit()).transpose()?,
                buttons: state.buttons.map_or(0, |b| b.0),
                id: grip.device_id,
            });
        }
        Ok(message)
    }
}

/// Writes the one command that the adapter has: a force on the cursor.
#[derive(Clone, Debug)]
pub(super) struct Command {
    /// As JSON, with quotes.
    id: String,
    field: &'static str,
}

impl Command {
    pub(super) fn new(id: &str, spelling: Spelling) -> Self {
        let id = serde_json::Value::from(id).to_string();
        let field = if spelling == Spelling::Values { "values" } else { "vector" };
        Self { id, field }
    }

    /// A force in Haply's frame [N]. One that is not finite is none.
    pub(super) fn force(&self, force: DVec3) -> String {
        let f = if force.is_finite() { force } else { DVec3::ZERO };
        let (id, field) = (&self.id, self.field);
        let mut text = String::with_capacity(160);
        // Debug, because it has a short form for small numbers and is JSON too. Writing to a string does not fail.
        let _ = write!(
            text,
            r#"{{"inverse3":[{{"device_id":{id},"commands":{{"set_cursor_force":{{"{field}":{{"x":{:?},"y":{:?},"z":{:?}}}}}}}}}]}}"#,
            f.x, f.y, f.z
        );
        text
    }

    /// The first message: who speaks, and no force.
    pub(super) fn hello(&self, profile: &str) -> String {
        let profile = serde_json::Value::from(profile);
        let command = self.force(DVec3::ZERO);
        let rest = command.strip_prefix('{').unwrap_or(&command);
        format!(r#"{{"session":{{"configure":{{"profile":{{"name":{profile}}}}}}},{rest}"#)
    }
}

/// The service's version from what `GET /version` answers: headers and all, whole or in pieces.
pub(super) fn version(answer: &[u8]) -> Option<(u32, u32)> {
    #[derive(Deserialize)]
    struct Version {
        project_version: String,
    }
    let start = answer.iter().position(|b| *b == b'{')?;
    let end = answer.iter().rposition(|b| *b == b'}')?;
    let told: Version = serde_json::from_slice(answer.get(start..=end)?).ok()?;
    let mut parts = told.project_version.split('.');
    Some((parts.next()?.trim().parse().ok()?, parts.next()?.trim().parse().ok()?))
}

#[derive(Deserialize)]
struct Wire {
    inverse3: Option<Vec<WireInverse>>,
    wireless_verse_grip: Option<Vec<WireGrip>>,
    verse_grip: Option<Vec<WireGrip>>,
    custom_verse_grip: Option<Vec<WireGrip>>,
}

#[derive(Deserialize)]
struct WireInverse {
    #[serde(default)]
    device_id: String,
    state: Option<WireCursor>,
    status: Option<WireStatus>,
}

#[derive(Default, Deserialize)]
struct WireCursor {
    cursor_position: Option<WireVector>,
    cursor_velocity: Option<WireVector>,
}

#[derive(Deserialize)]
struct WireStatus {
    calibrated: Option<bool>,
}

#[derive(Deserialize)]
struct WireGrip {
    #[serde(default)]
    device_id: String,
    state: Option<WireHold>,
}

#[derive(Default, Deserialize)]
struct WireHold {
    orientation: Option<WireQuaternion>,
    buttons: Option<Buttons>,
}

#[derive(Deserialize)]
struct WireVector {
    x: f64,
    y: f64,
    z: f64,
}

impl WireVector {
    fn within(&self, name: &str, most: f64) -> Result<DVec3, String> {
        let v = DVec3::new(self.x, self.y, self.z);
        if v.abs().max_element() <= most {
            return Ok(v);
        }
        Err(format!("{name} is {v}; more than {most} cannot be"))
    }
}

#[derive(Deserialize)]
struct WireQuaternion {
    x: f64,
    y: f64,
    z: f64,
    w: f64,
}

impl WireQuaternion {
    fn unit(&self) -> Result<DQuat, String> {
        let q = DQuat::from_xyzw(self.x, self.y, self.z, self.w);
        if (0.5..=2.0).contains(&q.length()) {
            return Ok(q.normalize());
        }
        Err(format!("the grip's orientation is {q}, which is no rotation"))
    }
}

/// Buttons by name, or as the bits of a number.
struct Buttons(u32);

impl<'de> Deserialize<'de> for Buttons {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Loose).map(Self)
    }
}

/// Bits of whatever there is: named flags, a number, a truth; anything else is 0.
struct Loose;

impl<'de> Visitor<'de> for Loose {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("buttons")
    }

    fn visit_bool<E>(self, held: bool) -> Result<u32, E> {
        Ok(u32::from(held))
    }

    fn visit_u64<E>(self, bits: u64) -> Result<u32, E> {
        Ok(u32::try_from(bits).unwrap_or(0))
    }

    fn visit_i64<E>(self, _: i64) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_f64<E>(self, _: f64) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_str<E>(self, _: &str) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_unit<E>(self) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u32, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u32, A::Error> {
        let mut bits = 0;
        while let Some((name, held)) = map.next_entry::<String, Buttons>()? {
            let place = match name.as_str() {
                "a" => Some(0),
                "b" => Some(1),
                "c" => Some(2),
                other => other.strip_prefix("button_").and_then(|n| n.parse::<u32>().ok()),
            };
            if let Some(place) = place.filter(|p| held.0 != 0 && *p < 32) {
                bits |= 1 << place;
            }
        }
        Ok(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_inventory_is_read() {
        let text = br#"{"session_id":7,"inverse3":[{"device_id":"049D","config":{"type":"inverse3","handedness":"right",
            "gravity_compensation":{"enabled":true,"scaling_factor":1.0},"basis":{"permutation":"XYZ"}},
            "state":{"cursor_position":{"x":0.0,"y":-0.12,"z":0.15},"cursor_velocity":{"x":0.1,"y":0,"z":-2e-3},
            "angular_position":{"a0":0.0,"a1":0.0,"a2":0.0},"body_orientation":{"w":1.0,"x":0.0,"y":0.0,"z":0.0},
            "control_domain":"cartesian","control_mode":"idle"},"status":{"calibrated":true,"in_use":false}}],
            "wireless_verse_grip":[{"device_id":"61548","state":{"orientation":{"w":0.0,"x":0.0,"y":0.0,"z":2.0},
            "buttons":{"a":true,"b":false,"c":true},"hall":4,"battery_level":0.8}}],"verse_grip":null}"#;
        let message = Message::parse(text).unwrap();
        let [inverse] = message.inverses.as_slice() else { panic!("{message:?}") };
        assert_eq!(inverse.id, "049D");
        assert_eq!(inverse.position, Some(DVec3::new(0.0, -0.12, 0.15)));
        assert_eq!(inverse.velocity, Some(DVec3::new(0.1, 0.0, -2e-3)));
        assert_eq!(inverse.calibrated, Some(true));
        let [grip] = message.grips.as_slice() else { panic!("{message:?}") };
        assert_eq!(grip.orientation, Some(DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0)));
        assert_eq!(grip.buttons, 0b101);
    }

    #[test]
    fn buttons_are_read_in_any_form() {
        for (text, bits) in [
            (r#"{"button_0":false,"button_1":true,"button_3":true}"#, 0b1010),
            (r#"{"a":1,"b":null,"c":[1],"d":true,"button_99":true,"button_":true}"#, 1),
            ("5", 5),
            ("true", 1),
            ("-1", 0),
            ("null", 0),
            ("[true,{\"a\":true}]", 0),
        ] {
            let text = format!(r#"{{"verse_grip":[{{"device_id":"g","state":{{"buttons":{text}}}}}]}}"#);
            assert_eq!(Message::parse(text.as_bytes()).unwrap().grips[0].buttons, bits, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_state_is_refused_in_words() {
        let position = |x: &str| {
            let p = format!(r#"{{"x":{x},"y":0,"z":0}}"#);
            format!(r#"{{"inverse3":[{{"device_id":"1","state":{{"cursor_position":{p}}}}}]}}"#)
        };
        assert!(Message::parse(position("0.1").as_bytes()).is_ok());
        for bad in ["null", "1e999", "-1e999", "\"0.1\"", "NaN", "1e3", "[]"] {
            assert!(Message::parse(position(bad).as_bytes()).is_err(), "{bad}");
        }
        for bad in ["", "{", "[1]", "null", "\u{0}", "{\"inverse3\":5}", "{}{}"] {
            assert!(Message::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        let deep = "[".repeat(100_000);
        assert!(Message::parse(format!("{{\"unknown\":{deep}").as_bytes()).is_err());
        assert!(Message::parse(&[0xff, 0xfe, 0x00]).is_err());
        let zero = br#"{"verse_grip":[{"state":{"orientation":{"x":0,"y":0,"z":0,"w":0}}}]}"#;
        assert!(Message::parse(zero).unwrap_err().contains("no rotation"));
        assert_eq!(Message::parse(b"{}").unwrap(), Message::default());
    }

    #[test]
    fn commands_are_written_as_documented() {
        let force = DVec3::new(0.0, -1.5, 1e-7);
        let vector = Command::new("049D", Spelling::Vector);
        assert_eq!(
            vector.force(force),
            r#"{"inverse3":[{"device_id":"049D","commands":{"set_cursor_force":{"vector":{"x":0.0,"y":-1.5,"z":1e-7}}}}]}"#
        );
        let values = Command::new("04\"9", Spelling::Values);
        assert_eq!(
            values.force(DVec3::splat(f64::NAN)),
            r#"{"inverse3":[{"device_id":"04\"9","commands":{"set_cursor_force":{"values":{"x":0.0,"y":0.0,"z":0.0}}}}]}"#
        );
        assert_eq!(
            vector.hello("org.palpate:feel"),
            r#"{"session":{"configure":{"profile":{"name":"org.palpate:feel"}}},"inverse3":[{"device_id":"049D","commands":{"set_cursor_force":{"vector":{"x":0.0,"y":0.0,"z":0.0}}}}]}"#
        );
        // Whatever the number, what is read is what was written.
        for x in [1.0 / 3.0, -9.999_999_999_999_9, 5e-324, 1e-20, 123_456.789] {
            let text = vector.force(DVec3::X * x);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let told = &value["inverse3"][0]["commands"]["set_cursor_force"]["vector"]["x"];
            assert_eq!(told.as_f64(), Some(x), "{text}");
        }
    }

    #[test]
    fn versions_are_found_in_answers() {
        let told =
            |v: &str| version(format!("HTTP/1.1 200 OK\r\n\r\n{{\"project_version\":{v}}}").as_bytes());
        assert_eq!(told("\"3.5.0.0\""), Some((3, 5)));
        assert_eq!(told("\"3.1.1\""), Some((3, 1)));
        assert_eq!(told("\"12.0\""), Some((12, 0)));
        for none in ["\"\"", "3", "\"3\"", "\"new\"", "null"] {
            assert_eq!(told(none), None, "{none}");
        }
        assert_eq!(version(b"}{"), None);
        assert_eq!(version(b""), None);
    }
}
