//! The page that shows a mesh and its field: report, warnings, pictures and times.

use crate::describe;
use crate::engine::Model;
use crate::motion::Motion;
use anyhow::Result;
use glam::DVec3;
use palpate::mesh::RawMesh;
use palpate_view::chart::{BarChart, Bars, Scale};
use palpate_view::html::{Page, Picture};
use palpate_view::slice::{self, Axis, SliceParams};
use palpate_view::{Camera, Image, Paint, RenderParams, Scene, cut, render, units};

/// Cells along the largest axis in the picture of voxels. More: cubes too small to see; fewer: the shape is lost.
const SHOWN_CELLS: f64 = 56.0;
/// Colours of the pictures.
const CLAY: [u8; 3] = [172, 184, 202];
const AMBER: [u8; 3] = [232, 150, 72];
/// Squares along the longer edge of the cut, and bands of colour on it.
const CUT_CELLS: u32 = 420;
const CUT_BANDS: f64 = 12.0;

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
    /// A motion of it against another shape: a heading, what it shows, and the answers.
    pub(crate) motion: Option<(&'a str, &'a str, &'a Motion<'a>)>,
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
    page.warnings(&describe::warnings(model), "Nothing is wrong with it: closed, oriented, no repairs.");

    let (columns, holes) = describe::hole_table(model);
    if !holes.is_empty() {
        page.section("Holes");
        page.table("Where the mesh is open, and what was done", &columns, &holes);
    }

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
    if let Some(image) = cut_picture(model, story.up) {
        let alt = "the mesh cut in half, bands of equal depth painted on the cut";
        drawn.push(Drawn::new(
            image,
            "The mesh cut in half; each band is a twelfth of the greatest depth",
            alt,
        ));
    }
    show(&mut page, drawn)?;

    if let Some((heading, words, motion)) = &story.motion {
        page.section(heading);
        page.paragraph(words);
        motion.show(&mut page, 1)?;
    }

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

/// The mesh cut in half, with the field inside it painted on the cut; none for a mesh without an inside.
pub(crate) fn cut_picture(model: &Model, up: DVec3) -> Option<Image> {
    let camera = Camera::three_quarter(up);
    let (front, aabb) = (camera.front(), model.mesh_info.aabb);
    let middle = aabb.centre();
    let whole = model.mesh().ok()?;
    let mesh = RawMesh { positions: whole.positions().to_vec(), triangles: whole.triangles().to_vec() };
    let heights: Vec<f64> = mesh.positions.iter().map(|p| (*p - middle).dot(front)).collect();
    let half = cut::keep_below(&mesh, &heights);
    // The cut itself: the part of the plane that is inside.
    let right = up.cross(front);
    let size = aabb.extent().dot(right.abs()) * right;
    let tall = aabb.extent().dot(up.abs()) * up;
    let sheet = cut::sheet(middle - 0.5 * (size + tall), size, tall, CUT_CELLS);
    let distances =
        |mesh: &RawMesh| palpate::par::map(mesh.positions.len(), |i| model.distance(mesh.positions[i]));
    let inside = cut::keep_below(&sheet, &distances(&sheet));
    let depths = distances(&inside);
    let deepest = depths.iter().copied().filter(|d| d.is_finite()).fold(0.0, f64::min);
    if inside.triangles.is_empty() || deepest == 0.0 {
        return None;
    }
    // Bands of equal distance, so that the shape of the field shows.
    let step = -deepest / CUT_BANDS;
    let paint = |d: &f64| slice::colour((d / step).floor().min(-1.0) * step + 0.5 * step, deepest, -deepest);
    let colours: Vec<[u8; 3]> = depths.iter().map(paint).collect();
    let mut scene = Scene::new();
    scene.mesh(&half.positions, &half.triangles, Paint::Plain(CLAY));
    scene.mesh(&inside.positions, &inside.triangles, Paint::PerVertex(&colours));
    Some(render(&scene, &camera, &picture_params()))
}

/// A plane through the field; `at` is 0 at the lower and 1 at the upper face of the mesh's box with its padding.
pub(crate) fn slice_picture(model: &Model, axis: Axis, at: f64, width: u32) -> Image {
    let params = SliceParams { axis, at, width, voxel: model.info.voxel, ..SliceParams::default() };
    // The grid ends on whole bricks; the same margin on all sides keeps the middle of the mesh in the middle.
    let aabb = model.mesh_info.aabb;
    let margin = (aabb.min - model.frame.min).min_element().max(0.0);
    slice::slice(|p| model.distance(p), aabb.padded(margin), &params)
}
