//! One self-contained page: tables, warnings, pictures and charts, no file or network beside it.

use crate::chart::escape;
use crate::image::Image;
use crate::png;
use palpate::par;
use std::fmt::Write;

/// A page under construction: parts appear in the order they are added.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
    /// Whether a table sorts itself.
    sorts: bool,
}

/// A picture with its words.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The pixels.
    pub image: &'a Image,
    /// What is seen, for those who cannot see it.
    pub alt: &'a str,
    /// Line below the picture.
    pub caption: &'a str,
}

const STYLE: &str = "
:root{color-scheme:light dark;--paper:#fbfbfc;--card:#fff;--ink:#1c2128;--dim:#5b6470;--line:#e2e5ea;--blue:#2f6fc4;
--warn:#8a4b00;--warn-paper:#fff4e3}
@media(prefers-color-scheme:dark){:root{--paper:#14171c;--card:#1c2027;--ink:#e6e9ee;--dim:#9aa4b2;--line:#2e343d;
--blue:#6ea8f2;--warn:#f5c078;--warn-paper:#33260f}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif}
main{max-width:1080px;margin:0 auto;padding:2rem 1.1rem 4rem}
h1{font-size:clamp(1.6rem,5vw,2.4rem);line-height:1.15;margin:0 0 .4rem;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.6rem 0 .8rem}
.lead{color:var(--dim);font-size:1.08rem;margin:0 0 1.6rem;max-width:62ch}
p{max-width:70ch}
.tables{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:1rem}
.card,figure{background:var(--card);border:1px solid var(--line);border-radius:12px}
.card{padding:.4rem 1rem;overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.5rem 0 .3rem}
th,td{text-align:left;padding:.38rem .6rem .38rem 0;border-top:1px solid var(--line);vertical-align:top}
thead th{border-top:0;color:var(--dim);font-weight:500}
tbody th{font-weight:400;color:var(--dim);white-space:nowrap}
td{overflow-wrap:anywhere}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:1rem;align-items:start}
figure{margin:0;padding:.8rem;min-width:0}
figure img,figure svg{display:block;width:100%;height:auto;border-radius:6px}
figure.wide{grid-column:1/-1;margin:1rem 0}
figure.wide svg{max-width:720px}
figcaption{color:var(--dim);font-size:.93rem;padding:.6rem .2rem 0}
.warnings{background:var(--warn-paper);color:var(--warn);border-radius:12px;padding:.8rem 1.1rem .8rem 2.2rem;margin:0}
.good{color:var(--dim)}
footer{color:var(--dim);font-size:.9rem;border-top:1px solid var(--line);margin-top:3rem;padding-top:1rem}
code{font-family:ui-monospace,monospace;font-size:.92em}
";

/// Headings of tables that sort themselves.
const SORT_STYLE: &str = "
.sorts button{all:unset;cursor:pointer}.sorts button:focus-visible{outline:2px solid var(--blue)}
.sorts [aria-sort=ascending] button:after{content:' \\25b2'}.sorts [aria-sort=descending] button:after{content:' \\25bc'}
";

/// Sorts rows by numbers where cells have them, else by words; a second click turns the order.
const SORT: &str = "
for(const table of document.querySelectorAll('table.sorts')){
  const heads=[...table.tHead.rows[0].cells],body=table.tBodies[0];
  heads.forEach((head,i)=>head.querySelector('button').addEventListener('click',()=>{
    const turn=head.getAttribute('aria-sort')==='ascending'?-1:1;
    const value=r=>{const c=r.cells[i];return c.dataset.v===undefined?c.textContent:c.dataset.v==='-inf'?-Infinity:+c.dataset.v};
    const rows=[...body.rows].map(r=>[value(r),r]);
    rows.sort(([x],[y])=>turn*(typeof x==='string'?x.localeCompare(y,undefined,{numeric:true}):x<y?-1:x>y?1:0));
    heads.forEach(h=>h.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort',turn>0?'ascending':'descending');
    body.append(...rows.map(r=>r[1]));
  }));
}
";

impl Page {
    /// A page with a heading.
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), body: format!("<h1>{}</h1>\n", escape(title)), sorts: false }
    }

    /// A sentence or two below the heading.
    pub fn lead(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p class=\"lead\">{}</p>", escape(text));
    }

    /// Starts a section.
    pub fn section(&mut self, heading: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escape(heading));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// Tables of names and values, side by side where there is room: each has a caption and its rows.
    pub fn key_values(&mut self, tables: &[(&str, Vec<(String, String)>)]) {
        self.body.push_str("<div class=\"tables\">\n");
        for (caption, rows) in tables {
            let _ =
                write!(self.body, "<div class=\"card\"><table><caption>{}</caption><tbody>", escape(caption));
            for (key, value) in rows {
                let (key, value) = (escape(key), escape(value));
                let _ = write!(self.body, "<tr><th scope=\"row\">{key}</th><td>{value}</td></tr>");
            }
            self.body.push_str("</tbody></table></div>\n");
        }
        self.body.push_str("</div>\n");
    }

    /// A table with a row of column names; the first column names the rows.
    pub fn table(&mut self, caption: &str, columns: &[&str], rows: &[Vec<String>]) {
        let _ =
            write!(self.body, "<div class=\"card\"><table><caption>{}</caption><thead><tr>", escape(caption));
        for name in columns {
            let _ = write!(self.body, "<th scope=\"col\">{}</th>", escape(name));
        }
        self.body.push_str("</tr></thead><tbody>");
        for row in rows {
            self.body.push_str("<tr>");
            for (i, cell) in row.iter().enumerate() {
                let cell = escape(cell);
                let _ = if i == 0 {
                    write!(self.body, "<th scope=\"row\">{cell}</th>")
                } else {
                    write!(self.body, "<td>{cell}</td>")
                };
            }
            self.body.push_str("</tr>");
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// As [`Page::table`], with a script that sorts it by the column whose heading is clicked. Each cell has its words and what it is
    /// sorted by; not a number: by its words.
    pub fn sortable_table(&mut self, caption: &str, columns: &[&str], rows: &[Vec<(String, f64)>]) {
        self.sorts = true;
        let _ = write!(
            self.body,
            "<div class=\"card\"><table class=\"sorts\"><caption>{}</caption><thead><tr>",
            escape(caption)
        );
        for name in columns {
            let _ = write!(self.body, "<th scope=\"col\"><button>{}</button></th>", escape(name));
        }
        self.body.push_str("</tr></thead><tbody>\n");
        for row in rows {
            self.body.push_str("<tr>");
            for (text, value) in row {
                let _ = match value.is_nan() {
                    true => write!(self.body, "<td>{}</td>", escape(text)),
                    false => write!(self.body, "<td data-v=\"{value}\">{}</td>", escape(text)),
                };
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// A list of what the reader should know; for an empty one, `none` in a quiet tone.
    pub fn warnings(&mut self, warnings: &[String], none: &str) {
        if warnings.is_empty() {
            let _ = writeln!(self.body, "<p class=\"good\">{}</p>", escape(none));
            return;
        }
        self.body.push_str("<ul class=\"warnings\">");
        for text in warnings {
            let _ = write!(self.body, "<li>{}</li>", escape(text));
        }
        self.body.push_str("</ul>\n");
    }

    /// Pictures side by side where there is room.
    ///
    /// # Errors
    /// When a picture cannot be encoded.
    pub fn pictures(&mut self, pictures: &[Picture<'_>]) -> Result<(), ::png::EncodingError> {
        self.body.push_str("<div class=\"figures\">\n");
        let coded = par::map(pictures.len(), |i| png::encode(pictures[i].image).map(|bytes| base64(&bytes)));
        for (p, data) in pictures.iter().zip(coded) {
            let data = data?;
            let _ = writeln!(
                self.body,
                "<figure><img width=\"{}\" height=\"{}\" alt=\"{}\" src=\"data:image/png;base64,{data}\">\
                 <figcaption>{}</figcaption></figure>",
                p.image.width(),
                p.image.height(),
                escape(p.alt),
                escape(p.caption)
            );
        }
        self.body.push_str("</div>\n");
        Ok(())
    }

    /// Pictures one below the other, over the whole width.
    ///
    /// # Errors
    /// When a picture cannot be encoded.
    pub fn wide_pictures(&mut self, pictures: &[Picture<'_>]) -> Result<(), ::png::EncodingError> {
        for picture in pictures {
            self.pictures(core::slice::from_ref(picture))?;
        }
        Ok(())
    }

    /// A chart over the whole width; `svg` is taken as it is (see [`crate::chart`]).
    pub fn chart(&mut self, svg: &str, caption: &str) {
        let caption = escape(caption);
        let _ =
            writeln!(self.body, "<figure class=\"wide\">{svg}<figcaption>{caption}</figcaption></figure>");
    }

    /// A line at the bottom.
    pub fn footer(&mut self, text: &str) {
        let _ = writeln!(self.body, "<footer>{}</footer>", escape(text));
    }

    /// The whole page. It loads nothing: a content security policy in it forbids that.
    pub fn html(&self) -> String {
        if !self.sorts {
            return whole(&self.title, "", "", &self.body);
        }
        let body = format!("{}<script>{SORT}</script>\n", self.body);
        whole(&self.title, SORT_STYLE, "script-src 'unsafe-inline'; ", &body)
    }

    /// What was added after the heading.
    pub(crate) fn body_after_heading(&self) -> &str {
        self.body.split_once("</h1>\n").map_or("", |(_, rest)| rest)
    }
}

/// A page around `body`, in the style of all pages and `more` of it. `policy` is added to what it may do.
pub(crate) fn whole(title: &str, more: &str, policy: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; {policy}\
         style-src 'unsafe-inline'\"><title>{}</title><style>{STYLE}{more}</style></head>\n<body><main>\n{body}</main></body>\
         </html>\n",
        escape(title)
    )
}

/// Standard base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_known_words() {
        for (plain, coded) in
            [("", ""), ("M", "TQ=="), ("Ma", "TWE="), ("Man", "TWFu"), ("\u{ff}\u{ff}", "w7/Dvw==")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn page_holds_everything_and_escapes_names() {
        let mut page = Page::new("<gear & 'nut'>");
        page.lead("lead");
        page.section("Mesh");
        page.key_values(&[("What", vec![("triangles".into(), "12 <b>".into())])]);
        page.table("T", &["a", "b"], &[vec!["1".into(), "2".into()]]);
        assert!(!page.html().contains("<script>"));
        page.sortable_table("S", &["a", "b"], &[vec![("x<".into(), f64::NAN), ("1 mm".into(), 1e-3)]]);
        assert!(page.html().contains("<td>x&lt;</td><td data-v=\"0.001\">1 mm</td>"));
        page.warnings(&["5 holes".into()], "none");
        page.warnings(&[], "nothing found");
        let image = Image::new(2, 2);
        page.pictures(&[Picture { image: &image, alt: "two \"pixels\"", caption: "c" }]).unwrap();
        page.chart("<svg></svg>", "chart");
        page.footer("end");
        let html = page.html();
        assert!(html.contains("&lt;gear &amp; &#39;nut&#39;&gt;") && !html.contains("12 <b>"));
        assert!(html.contains("data:image/png;base64,iVBORw0KGgo"));
        assert!(html.contains("alt=\"two &quot;pixels&quot;\""));
        for tag in ["table", "div", "figure", "ul", "main", "body", "html", "tbody", "thead", "tr"] {
            let open = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(open, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(!html.contains("http://") || html.contains("http-equiv"), "nothing is loaded");
    }
}
