//! The page that shows a mesh and its field: report, warnings, pictures and times.

use crate::describe;
use crate::engine::Model;
use anyhow::Result;
use glam::DVec3;
use palpate::math::Aabb;
use palpate::mesh::RawMesh;
use palpate_view::chart::{BarChart, Bars, Scale};
use palpate_view::html::{Page, Picture};
use palpate_view::slice::{self, Axis, SliceParams};
use palpate_view::{Camera, Image, Paint, RenderParams, Scene, render, units};

/// Cells along the largest axis in the picture of voxels. More: cubes too small to see; fewer: the shape is lost.
const SHOWN_CELLS: f64 = 56.0;
/// Colours of the pictures.
const CLAY: [u8; 3] = [172, 184, 202];
const AMBER: [u8; 3] = [232, 150, 72];
const SEA: [u8; 3] = [98, 158, 214];

/// What the page tells about.
#[derive(Debug)]
pub(crate) struct Story<'a> {
    /// Name of the mesh.
    pub(crate) title: &'a str,
    pub(crate) model: &'a Model,
    /// Direction that is up in the pictures.
    pub(crate) up: DVec3,
    /// Stages of the build and their seconds; empty when the field was opened, not built.
    pub(crate) stages: &'a [(&'static str, f64)],
    /// Seconds the build took.
    pub(crate) seconds: f64,
    /// The command that makes this page again.
    pub(crate) command: &'a str,
}

/// The whole page as text.
///
/// # Errors
/// When a picture cannot be encoded.
pub(crate) fn page(story: &Story<'_>) -> Result<String> {
    let model = story.model;
    let mut page = Page::new(story.title);
    let mut lead = format!(
        "{} triangles, as a signed distance field of {} voxels",
        units::count(model.mesh_info.triangles as u64),
        units::length(model.info.voxel)
    );
    if !story.stages.is_empty() {
        lead += &format!(", built in {}", units::seconds(story.seconds));
    }
    page.lead(&(lead + "."));
    let first = [
        Drawn::new(mesh_picture(model, story.up)?, "The mesh", "the mesh, lit from the upper left"),
        voxel_picture(model, story.up),
    ];
    show(&mut page, first.into_iter().collect())?;

    page.section("Report");
    page.key_values(&[
        ("Mesh", describe::mesh_rows(&model.mesh_info)),
        ("Field", describe::field_rows(model)),
    ]);
    page.section("What to know about this mesh");
    page.warnings(
        &describe::mesh_warnings(&model.mesh_info),
        "Nothing is wrong with it: closed, oriented, no repairs.",
    );

    page.section("The field");
    page.paragraph(
        "Each picture is a plane through the middle of the box. Blue is inside, orange outside; the thick line is the \
         surface, the thin ones are places of equal distance.",
    );
    let planes = [Axis::Z, Axis::Y, Axis::X].map(|axis| {
        let alt = format!("distance field on the plane through the middle, perpendicular to {}", axis.name());
        let caption = format!("Plane perpendicular to {}", axis.name());
        Drawn::new(slice_picture(model, axis, 0.5, 900), &caption, &alt)
    });
    let mut drawn = planes.to_vec();
    drawn.extend(offset_picture(model, story.up));
    show(&mut page, drawn)?;

    if !story.stages.is_empty() {
        page.section("Where the time went");
        let groups =
            story.stages.iter().map(|(name, s)| Bars { label: (*name).to_owned(), values: vec![*s] });
        let chart = BarChart {
            title: format!("Build time by stage, {} in all", units::seconds(story.seconds)),
            series: vec!["time".into()],
            scale: Scale::Linear,
            format: units::seconds,
            groups: groups.collect(),
        };
        page.chart(&chart.svg(), "Measured in this run, on this machine.");
    }
    page.footer(&format!("Made by palpate {} with: {}", env!("CARGO_PKG_VERSION"), story.command));
    Ok(page.html())
}

/// A picture with its words, owned.
#[derive(Clone, Debug)]
struct Drawn {
    image: Image,
    caption: String,
    alt: String,
}

impl Drawn {
    fn new(image: Image, caption: &str, alt: &str) -> Self {
        Self { image, caption: caption.to_owned(), alt: alt.to_owned() }
    }
}

fn show(page: &mut Page, drawn: Vec<Drawn>) -> Result<()> {
    let pictures: Vec<Picture<'_>> =
        drawn.iter().map(|d| Picture { image: &d.image, alt: &d.alt, caption: &d.caption }).collect();
    Ok(page.pictures(&pictures)?)
}

fn picture_params() -> RenderParams {
    RenderParams { width: 1000, height: 750, ..RenderParams::default() }
}

/// The mesh as a product picture, transparent around it.
///
/// # Errors
/// When the model's file is damaged where the mesh is.
pub(crate) fn mesh_picture(model: &Model, up: DVec3) -> Result<Image> {
    let (mesh, mut scene) = (model.mesh()?, Scene::new());
    scene.mesh(mesh.positions(), mesh.triangles(), Paint::Plain(CLAY));
    Ok(render(&scene, &Camera::three_quarter(up), &picture_params()))
}

/// The cells the surface meets, coarse enough to be seen.
fn voxel_picture(model: &Model, up: DVec3) -> Drawn {
    let size = (model.mesh_info.aabb.extent().max_element() / SHOWN_CELLS).max(model.info.voxel);
    let (caption, mut scene) = (format!("Surface voxels of {}", units::length(size)), Scene::new());
    match model.surface_cells(size) {
        Ok((cells, origin)) => scene.voxels(&cells, origin, size, |_| AMBER),
        Err(error) => {
            return Drawn::new(Image::new(4, 3), &format!("No voxels: {error}"), "no picture");
        }
    }
    let image = render(&scene, &Camera::three_quarter(up), &picture_params());
    Drawn::new(image, &caption, "the cubes of a coarse grid that the surface meets")
}

/// The surface at a distance, cut open to show the mesh inside; none when the field has no such surface.
fn offset_picture(model: &Model, up: DVec3) -> Option<Drawn> {
    let level = 0.04 * model.mesh_info.aabb.extent().max_element();
    let level = level.min(0.8 * (model.frame.max - model.mesh_info.aabb.max).min_element());
    let surface = if level > 0.0 { model.iso_surface(level).ok()? } else { return None };
    let camera = Camera::three_quarter(up);
    let open = cut_open(&surface, model.mesh_info.aabb, camera.toward);
    let (mesh, mut scene) = (model.mesh().ok()?, Scene::new());
    scene.mesh(mesh.positions(), mesh.triangles(), Paint::Plain(CLAY));
    scene.mesh(&open.positions, &open.triangles, Paint::Plain(SEA));
    let image = render(&scene, &camera, &picture_params());
    let caption = format!("All points {} away, cut open, with the mesh inside", units::length(level));
    Some(Drawn::new(image, &caption, "the offset surface from the field around the mesh, front half removed"))
}

/// The triangles behind the plane through the middle of `aabb` that faces the viewer.
fn cut_open(mesh: &RawMesh, aabb: Aabb, toward: DVec3) -> RawMesh {
    let behind =
        |v: u32| mesh.positions.get(v as usize).is_some_and(|p| (*p - aabb.centre()).dot(toward) < 0.0);
    let triangles = mesh.triangles.iter().filter(|t| t.iter().all(|&v| behind(v))).copied().collect();
    RawMesh { positions: mesh.positions.clone(), triangles }
}

/// A plane through the field; `at` is 0 at the lower and 1 at the upper face of the box.
pub(crate) fn slice_picture(model: &Model, axis: Axis, at: f64, width: u32) -> Image {
    let params = SliceParams { axis, at, width, voxel: model.info.voxel, ..SliceParams::default() };
    slice::slice(|p| model.distance(p), model.frame, &params)
}
