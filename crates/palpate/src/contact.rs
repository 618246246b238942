//! Contacts: what queries find, and forces are made of.

use bytemuck::{Pod, Zeroable};
use glam::{DVec3, Vec3};

/// One point of a shell that is inside the other shape, or nearer than a margin to it. Frame A; 48 bytes.
///
/// A is the first shape of the query and B the second, whichever of them gave the point. All directions are unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Contact {
    /// Where, relative to [`Contacts::origin`] [m].
    pub point: [f32; 3],
    /// Signed distance of the point to the other shape, negative inside [m].
    pub distance: f32,
    /// From A to B: the outward gradient of A's field at the point, or the inward one of B's where A gave the point [1].
    pub normal: [f32; 3],
    /// Index of the point in its shell's tree.
    pub id: u32,
    /// Outward normal, at the point, of the shape that gave it [1].
    pub shell_normal: [f32; 3],
    /// Surface the point stands for [m²].
    pub area: f32,
}

impl Contact {
    /// How deep the point is inside: `max(0, -distance)` [m].
    pub fn depth(&self) -> f32 {
        (-self.distance).max(0.0)
    }

    /// `normal` as a vector.
    pub fn normal(&self) -> Vec3 {
        Vec3::from_array(self.normal)
    }

    /// `shell_normal` as a vector.
    pub fn shell_normal(&self) -> Vec3 {
        Vec3::from_array(self.shell_normal)
    }
}

/// The contacts of one direction of a pair, in the order of their points' indices.
#[derive(Clone, Debug, Default)]
pub struct Contacts {
    /// What the points are relative to, in A's frame [m]: coordinates stay precise far from the frame's origin.
    pub origin: DVec3,
    /// Whether A gave the points and B the field.
    pub swapped: bool,
    /// The contacts.
    pub list: Vec<Contact>,
}

impl Contacts {
    /// Where a contact is, in A's frame [m].
    pub fn position(&self, contact: &Contact) -> DVec3 {
        self.origin + Vec3::from_array(contact.point).as_dvec3()
    }

    /// The deepest contact; none without contacts. The first of several.
    pub fn deepest(&self) -> Option<&Contact> {
        self.list.iter().reduce(|a, b| if b.distance < a.distance { b } else { a })
    }
}
