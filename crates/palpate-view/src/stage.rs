//! What pages that play something share: the numbers in them, the view with its bar and charts, the tables below.

use crate::chart::escape;
use crate::html;
use crate::image::Image;
use crate::png;
use crate::recording::Mark;
use glam::DVec3;
use palpate::math::Aabb;
use std::fmt::Write;

/// One script in five files: what is played, its meshes, scans and paths, how all is drawn, what the hand does.
const SCRIPT: &str = concat!(
    include_str!("../web/recording.js"),
    include_str!("../web/meshes.js"),
    include_str!("../web/scans.js"),
    include_str!("../web/painter.js"),
    include_str!("../web/player.js")
);
const LOOK: &str = include_str!("../web/player.css");

/// Size of the picture for those without WebGL2 \[pixels\].
pub(crate) const STILL: [u32; 2] = [1080, 600];

/// What a page may leave out or say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageParams {
    /// Lines of names and values for the table below the player; empty: no table.
    pub rows: Vec<(String, String)>,
    /// Warnings above it.
    pub warnings: Vec<String>,
}

/// The numbers of a page, one array behind the other, each at a multiple of four.
#[derive(Debug, Default)]
pub(crate) struct Blob(pub(crate) Vec<u8>);

impl Blob {
    /// Adds bytes and says where.
    pub(crate) fn add(&mut self, bytes: impl IntoIterator<Item = u8>) -> usize {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        let at = self.0.len();
        self.0.extend(bytes);
        at
    }

    pub(crate) fn floats(&mut self, all: impl IntoIterator<Item = f64>) -> usize {
        self.add(all.into_iter().flat_map(|x| (x as f32).to_le_bytes()))
    }

    pub(crate) fn numbers(&mut self, all: impl IntoIterator<Item = u32>) -> usize {
        self.add(all.into_iter().flat_map(u32::to_le_bytes))
    }

    /// Lists of any length: where each begins, and one more, in the first array; what is in them in the second.
    pub(crate) fn lists(&mut self, lists: &[&[u32]]) -> [usize; 2] {
        [self.firsts(lists.iter().map(|l| l.len())), self.numbers(lists.iter().copied().flatten().copied())]
    }

    /// Where each of some lists begins, and where the last ends.
    pub(crate) fn firsts(&mut self, lengths: impl Iterator<Item = usize>) -> usize {
        let sum = lengths.scan(0_u32, |sum, n| {
            *sum += n as u32;
            Some(*sum)
        });
        let all: Vec<u32> = [0].into_iter().chain(sum).collect();
        self.numbers(all)
    }

    /// Triangles: 16 bits an index where that is enough, and whether it was not.
    pub(crate) fn triangles(&mut self, triangles: &[[u32; 3]], vertices: usize) -> (usize, bool) {
        let flat = triangles.iter().flatten();
        if vertices > 1 << 16 {
            (self.numbers(flat.copied()), true)
        } else {
            (self.add(flat.flat_map(|v| (*v as u16).to_le_bytes())), false)
        }
    }

    /// Contacts of each frame: where each frame's begin, places in 16 bits of their box, normals in 8 bits, depths.
    pub(crate) fn marks(&mut self, frames: &[Vec<Mark>]) -> String {
        let all = || frames.iter().flatten();
        let aabb = around(all().map(|m| m.point));
        let first = self.firsts(frames.iter().map(Vec::len));
        let places = self.add(all().flat_map(|m| in_box(m.point, aabb)));
        let byte = |x: f64| ((x.clamp(-1.0, 1.0) * 127.0).round() as i8).to_le_bytes();
        let normals = self.add(all().flat_map(|m| m.normal.to_array()).flat_map(byte));
        let depths = self.floats(all().map(|m| m.depth));
        format!(
            "{{\"first\":{first},\"places\":{places},\"normals\":{normals},\"depths\":{depths},\"min\":{},\"size\":{}}}",
            list(aabb.min.to_array()),
            list(aabb.extent().to_array())
        )
    }
}

/// The box of some points; a point at the origin where there are none.
pub(crate) fn around(points: impl Iterator<Item = DVec3>) -> Aabb {
    let aabb = Aabb::of_points(points);
    if aabb.min.cmple(aabb.max).all() { aabb } else { Aabb { min: DVec3::ZERO, max: DVec3::ZERO } }
}

/// Text as JSON; also safe within a script element.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out + "\""
}

/// Numbers as JSON.
pub(crate) fn list(all: impl IntoIterator<Item = f64>) -> String {
    let each: Vec<String> =
        all.into_iter().map(|x| format!("{}", if x.is_finite() { x } else { 0.0 })).collect();
    format!("[{}]", each.join(","))
}

/// Where `p` is in a box, each axis in 16 bits.
pub(crate) fn in_box(p: DVec3, aabb: Aabb) -> impl Iterator<Item = u8> {
    let share = (p - aabb.min) / aabb.extent().max(DVec3::splat(1e-300));
    share.to_array().into_iter().flat_map(|s| ((s.clamp(0.0, 1.0) * 65535.0).round() as u16).to_le_bytes())
}

/// What a page shows and says.
pub(crate) struct Stage<'a> {
    pub(crate) title: &'a str,
    pub(crate) lead: &'a str,
    /// Where it comes from, as HTML.
    pub(crate) what: &'a str,
    /// The first frame, for those without WebGL2.
    pub(crate) still: &'a Image,
    /// What the box that shows or hides contacts is called.
    pub(crate) marks: &'a str,
    /// Everything but the arrays, as JSON.
    pub(crate) meta: &'a str,
    pub(crate) blob: &'a Blob,
}

impl Stage<'_> {
    /// The whole page.
    ///
    /// # Errors
    /// When the picture cannot be encoded.
    pub(crate) fn html(&self, params: &PageParams) -> Result<String, ::png::EncodingError> {
        let still = html::base64(&png::encode(self.still)?);
        let data = html::base64(&self.blob.0);
        let mut body = format!("<h1>{}</h1>\n", escape(self.title));
        let _ = writeln!(body, "<p class=\"lead\">{}</p>", escape(self.lead));
        let _ = write!(
            body,
            "<div class=\"player\"><div class=\"stage\"><img class=\"still\" id=\"still\" alt=\"A frame of the motion\" \
             src=\"data:image/png;base64,{still}\"><canvas id=\"view\" tabindex=\"0\" aria-label=\"3D view of the motion\"></canvas>\
             <div class=\"hud\"><b id=\"clock\"></b><br><span id=\"touch\"></span></div><div class=\"scale\" id=\"scale\"></div>\
             <p class=\"note\" id=\"note\" hidden>This browser offers no WebGL2, or nothing was recorded: the picture shows one \
             frame; the charts work without it.</p><noscript><p class=\"note\">The motion is played by a script in this file; scripts \
             are switched off here.</p></noscript></div>\n{}\n<div class=\"charts\" id=\"charts\"></div>\
             <ul class=\"bodies\" id=\"bodies\"></ul></div>\n",
            BAR.replace("MARKS", self.marks)
        );
        let _ = writeln!(body, "<p class=\"what\">{}</p>", self.what);
        body.push_str(&KEYS.replace("MARKS", self.marks));
        if !params.warnings.is_empty() || !params.rows.is_empty() {
            let mut more = html::Page::new("");
            if !params.warnings.is_empty() {
                more.section("To know");
                more.warnings(&params.warnings, "");
            }
            if !params.rows.is_empty() {
                more.section("Figures");
                more.key_values(&[("The whole motion", params.rows.clone())]);
            }
            body.push_str(more.body_after_heading());
        }
        let _ = write!(
            body,
            "<script type=\"application/json\" id=\"meta\">{}</script>\n\
             <script type=\"text/plain\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n",
            self.meta
        );
        Ok(html::whole(self.title, LOOK, "script-src 'unsafe-inline'; ", &body))
    }
}

const BAR: &str = "<div class=\"bar\">\
<button id=\"play\" class=\"main\" aria-label=\"Play\"><svg viewBox=\"0 0 18 18\"><path d=\"M4 2l12 7-12 7z\"/></svg></button>\
<button id=\"back\" aria-label=\"One frame back\"><svg viewBox=\"0 0 18 18\"><path d=\"M12 3v12L4 9zM13 3h2v12h-2z\"/></svg></button>\
<button id=\"ahead\" aria-label=\"One frame ahead\"><svg viewBox=\"0 0 18 18\"><path d=\"M6 3v12l8-6zM3 3h2v12H3z\"/></svg></button>\
<input id=\"slider\" type=\"range\" aria-label=\"Time\" value=\"0\">\
<select id=\"speed\" aria-label=\"Speed\"><option value=\"0.02\">1/50</option><option value=\"0.1\">1/10</option>\
<option value=\"0.25\">1/4</option><option value=\"0.5\">1/2</option><option value=\"1\" selected>1 x</option>\
<option value=\"2\">2 x</option><option value=\"4\">4 x</option></select>\
<label><input type=\"checkbox\" id=\"contacts\" checked>MARKS</label>\
<label><input type=\"checkbox\" id=\"follow\">follow</label>\
<button id=\"reset\">whole view</button></div>";

const KEYS: &str = "<p class=\"keys\">Drag to turn, with shift or two fingers to move, wheel or pinch to come nearer, double click for the \
whole view; drag a chart to go to a time. <kbd>space</kbd> plays, <kbd>left</kbd> <kbd>right</kbd> step, <kbd>up</kbd> <kbd>down</kbd> \
change the speed, <kbd>c</kbd> MARKS, <kbd>f</kbd> follow.</p>\n";
