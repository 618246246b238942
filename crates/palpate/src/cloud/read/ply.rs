//! PLY: the vertices, with their normals and colours. Elements before them are passed over, those behind them are not
//! looked at: a cloud can be read of a file whose faces are damaged.

use super::records::{ColourColumns, Column, Records};
use super::rows::{self, Role, Rows};
use super::{CloudFormat, CloudReadError, Input, RawCloud, colour, unit};
use crate::mesh::ply::{Data, pass_over};
use crate::mesh::ply_header::{Element, Encoding, Header};
use crate::mesh::read_error::shown;
use crate::mesh::text::Text;
use crate::mesh::{Format, Place, ReadError};
use glam::DVec3;

pub(super) fn parse(input: &Input<'_>) -> Result<RawCloud, CloudReadError> {
    let header = Header::parse(input.bytes).map_err(fail)?;
    let mut data = Data { text: Text::new(input.bytes, header.body, Format::Ply), encoding: header.encoding };
    for element in &header.elements {
        if element.name == b"vertex" {
            return vertices(&mut data, element, input);
        }
        data.check_room(element).and_then(|()| pass_over(&mut data, element)).map_err(fail)?;
    }
    let problem = "there is no element `vertex`; export with vertices";
    Err(input.malformed(Place::Header, problem))
}

fn fail(error: ReadError) -> CloudReadError {
    CloudReadError::of_mesh(error, CloudFormat::Ply)
}

fn vertices(
    data: &mut Data<'_>,
    element: &Element<'_>,
    input: &Input<'_>,
) -> Result<RawCloud, CloudReadError> {
    // A list is no coordinate, whatever its name.
    let names = || element.properties.iter().map(|p| if p.list.is_some() { &b""[..] } else { p.name });
    let mut roles = rows::roles(names()).map_err(|missing| CloudReadError::NoCoordinate {
        file: None,
        format: CloudFormat::Ply,
        missing,
        found: shown(&element.properties.iter().map(|p| p.name).collect::<Vec<_>>().join(&b' ')),
    })?;
    roles.iter_mut().filter(|r| **r == Some(rows::PACKED)).for_each(|r| *r = None);
    let Some(stride) = element.fixed_size() else {
        data.check_room(element).map_err(fail)?;
        return one_by_one(data, element, &roles, input);
    };
    let count = element.count;
    if data.encoding != Encoding::Text {
        let block = &input.bytes[data.text.at..];
        let room = block.len() / stride.max(1);
        if count > room {
            return Err(input.truncated(count as u64, room as u64));
        }
        let column = |role: u8| {
            let k = roles.iter().position(|r| *r == Some(role))?;
            let base = element.properties[..k].iter().map(|p| p.value.size()).sum();
            Some(Column { base, stride, kind: element.properties[k].value.into() })
        };
        let three = |role: u8| Some([column(role)?, column(role + 1)?, column(role + 2)?]);
        let Some(points) = three(0) else {
            return Err(input.malformed(Place::Header, "no positions; export with x, y and z"));
        };
        let big = data.encoding == Encoding::Big;
        let colours = three(6).map(ColourColumns::Three);
        let records = Records { block, count, big, points, normals: three(3), colours, transform: None };
        return records.read(input);
    }
    data.check_room(element).map_err(fail)?;
    // One vertex a line, as nearly all files have it; the general way reads the others and finds what is wrong.
    let from = data.text.at;
    if let Some(to) = rows::rows_end(input.bytes, from, count) {
        let range = range(element, &roles);
        let roles = roles.clone();
        let rows = Rows {
            text: input.bytes,
            from,
            to,
            roles,
            exact: true,
            comments: false,
            range,
            unpack: |_| [0; 3],
        };
        match rows.read(input) {
            Err(CloudReadError::Malformed { .. }) => {}
            done => return done,
        }
    }
    one_by_one(data, element, &roles, input)
}

/// What the types of the colours tell.
fn range(element: &Element<'_>, roles: &[Role]) -> colour::Range {
    use crate::mesh::ply_header::Scalar::{F32, F64};
    let coloured = element.properties.iter().zip(roles).filter(|(_, r)| matches!(r, Some(6..9)));
    colour::Range::of_type(coloured.into_iter().any(|(p, _)| matches!(p.value, F32 | F64)))
}

/// Vertices with lists, or in words that are not one vertex a line. The room was checked.
fn one_by_one(
    data: &mut Data<'_>,
    element: &Element<'_>,
    roles: &[Role],
    input: &Input<'_>,
) -> Result<RawCloud, CloudReadError> {
    /// Vertices between two looks at whether to stop.
    const STEP: usize = 1 << 16;
    let count = element.count;
    input.check_count(count as u64)?;
    input.progress.stage("read points", count as u64);
    let has = |role| roles.contains(&Some(role));
    let mut cloud = RawCloud { points: Vec::with_capacity(count), ..Default::default() };
    let mut normals = has(3).then(Vec::new);
    let mut colours = has(6).then(Vec::new);
    let mut range = range(element, roles);
    let mut v = [0.0; 10];
    for i in 0..count {
        if i % STEP == 0 {
            input.stop()?;
            input.progress.advance(STEP.min(count - i) as u64);
        }
        data.start_of_element();
        for (property, role) in element.properties.iter().zip(roles) {
            match role {
                Some(k) => v[usize::from(*k)] = data.number(property.value, element, i).map_err(fail)?,
                None => data.skip(property, element, i).map_err(fail)?,
            }
        }
        cloud.points.push(DVec3::new(v[0], v[1], v[2]) * input.scale);
        if let Some(normals) = &mut normals {
            normals.push(unit(DVec3::new(v[3], v[4], v[5])));
        }
        if let Some(colours) = &mut colours {
            let c = [v[6] as f32, v[7] as f32, v[8] as f32];
            range.add(c);
            colours.push(c);
        }
    }
    let factor = range.factor();
    let colours = colours.map(|all| all.into_iter().map(|c| colour::bytes(c, factor)).collect());
    Ok(RawCloud { normals, colours, ..cloud })
}
