//! Pictures, charts and pages of shapes and fields.
//!
//! Nothing here opens a window or asks the system for a font: [`raster`] draws triangles, voxels and points in software as
//! a [`camera`] sees them, [`glass`] shapes that can be seen through, [`slice`](mod@slice) a plane through a distance field;
//! [`chart`] writes SVG, [`html`] puts them on one self-contained page, [`png`](mod@png) encodes. A [`recording`] holds a motion,
//! [`player`] a page that plays it, [`strip`] pictures of it; [`deforming`] is the same for meshes whose vertices move, [`probing`] for a
//! probe on a scan; [`assembly`] a page of what is wrong with one. The same input gives the same bytes on any number of threads.

pub mod assembly;
pub mod band;
pub mod camera;
pub mod chart;
pub mod cut;
pub mod deforming;
pub mod font;
pub mod glass;
pub mod html;
pub mod image;
pub mod live;
pub mod player;
pub mod png;
pub mod probing;
pub mod raster;
pub mod recording;
pub mod scene;
mod shade;
pub mod slice;
mod stage;
pub mod strip;
pub mod units;

pub use crate::camera::{Camera, Lens};
pub use crate::glass::render_through;
pub use crate::image::Image;
pub use crate::raster::{RenderParams, render};
pub use crate::scene::{Paint, Scene};
