//! What a motion gave, in words and for machines.

use super::tables::used;
use super::{Question, Row, Run, Scene, Way};
use palpate::soft::Touch;
use palpate_view::units;
use serde_json::{Value, json};

/// A run and its scene, to be told.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) run: &'a Run,
    pub(crate) question: &'a Question,
}

/// What touches first, in words.
fn what(touch: &Touch) -> String {
    match touch {
        Touch::Triangles([x, y]) => format!("triangle {x} of the first and triangle {y} of the second"),
        Touch::VertexFace([v, t]) => format!("vertex {v} of the first on triangle {t} of the second"),
        Touch::FaceVertex([t, v]) => format!("vertex {v} of the second on triangle {t} of the first"),
        Touch::Edges([a, b], [c, d]) => format!("edge {a}-{b} of the first and edge {c}-{d} of the second"),
        other => format!("{other:?}"),
    }
}

/// Mean and largest of something over all steps, and where it is largest.
struct Over {
    mean: f64,
    most: f64,
    at: usize,
}

impl Told<'_> {
    fn over(&self, of: impl Fn(&Row) -> f64) -> Over {
        let rows = &self.run.rows;
        let mut out = Over { mean: 0.0, most: 0.0, at: 0 };
        for row in rows {
            let x = of(row);
            out.mean += x / rows.len().max(1) as f64;
            if x > out.most {
                (out.most, out.at) = (x, row.step);
            }
        }
        out
    }

    /// How often each way was taken.
    fn chosen(&self) -> [usize; 2] {
        [Way::Cut, Way::Refit].map(|w| self.run.rows.iter().filter(|r| used(&r.stats) == w).count())
    }

    /// Mean time of finding pairs by one way, without steps that built trees [µs]; 0 where there is none.
    fn mean_us(&self, way: Way) -> f64 {
        let all = || self.run.rows.iter().filter(|r| used(&r.stats) == way && r.stats.built == 0);
        all().map(|r| r.us[1]).sum::<f64>() / all().count().max(1) as f64
    }

    /// The first step with a pair between the meshes.
    fn first(&self) -> Option<&Row> {
        self.run.rows.iter().find(|r| r.pairs > 0)
    }

    pub(crate) fn title(&self) -> String {
        let [a, b] = &self.scene.parts;
        format!("{} and {}, waving", a.title, b.title)
    }

    pub(crate) fn json(&self) -> Value {
        let rows = &self.run.rows;
        let mesh = |i: usize| {
            let p = &self.scene.parts[i];
            json!({ "name": p.title, "vertices": p.rest.len(), "triangles": p.triangles.len(), "size": p.size })
        };
        let figure = |of: &dyn Fn(&Row) -> f64| {
            let Over { mean, most, at } = self.over(of);
            json!({ "mean": mean, "most": most, "at": at })
        };
        let each = |of: &dyn Fn(&Row) -> Value| rows.iter().map(of).collect::<Vec<Value>>();
        let [cut, refit] = self.chosen();
        let sum = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).sum::<usize>();
        json!({
            "meshes": [mesh(0), mesh(1)],
            "steps": rows.len(),
            "method": self.question.way.name(),
            "chosen": { "cut": cut, "refit": refit },
            "chosen_us": { "cut": self.mean_us(Way::Cut), "refit": self.mean_us(Way::Refit) },
            "built_at": rows.iter().filter(|r| r.stats.built > 0).map(|r| r.step).collect::<Vec<_>>(),
            "first_contact": self.first().map(|r| r.step),
            "first_touch": self.run.touch.map(|(step, t)| json!({
                "step": step as f64 + t.time,
                "point": t.point.to_array(),
                "what": what(&t.touch),
                "exact": t.exact,
            })),
            "pairs": figure(&|r| r.pairs as f64),
            "all_pairs": sum(&|r| r.pairs),
            "own_pairs": self.question.own.then(|| sum(&|r| r.own[0] + r.own[1])),
            "deepest": self.question.contacts.then(|| self.over(|r| r.deepest).most),
            "off": rows.last().map(|r| r.off),
            "step_us": figure(&Row::whole_us),
            "move_us": figure(&|r| r.us[0]),
            "pairs_us": figure(&|r| r.us[1]),
            "own_us": figure(&|r| r.us[2]),
            "contacts_us": figure(&|r| r.us[3]),
            "each_step": {
                "apart": each(&|r| json!(r.apart)),
                "pairs": each(&|r| json!(r.pairs)),
                "own_pairs": each(&|r| json!(r.own)),
                "triangles": each(&|r| json!(r.hits)),
                "method": each(&|r| json!(used(&r.stats).name())),
                "us": each(&|r| json!(r.whole_us())),
            },
            "hash": format!("{:016x}", self.run.hash),
            "interrupted": self.run.interrupted,
        })
    }

    /// The figures for people.
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let mut out: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, value: String| out.push((name.to_owned(), value));
        let count = |n: usize| units::count(n as u64);
        let time = |us: f64| units::seconds(1e-6 * us);
        let took =
            |o: &Over| format!("{} in the mean, at most {} (step {})", time(o.mean), time(o.most), o.at);
        let most = |o: &Over, text: String| match o.most > 0.0 {
            true => format!("at most {text} (step {})", o.at),
            false => "none".to_owned(),
        };
        let [a, b] = &self.scene.parts;
        row("meshes", format!("{} and {} triangles", count(a.triangles.len()), count(b.triangles.len())));
        let [cut, refit] = self.chosen();
        let way = match self.question.way {
            Way::Auto => format!("auto: {} by cuts, {} by boxes", count(cut), count(refit)),
            Way::Cut => "cuts".to_owned(),
            Way::Refit => "boxes, fitted anew".to_owned(),
        };
        row("steps", format!("{}, {way}", count(self.run.rows.len())));
        row(
            "first contact",
            match self.first() {
                Some(r) => format!("step {}, middles {} apart", r.step, units::length(r.apart.abs())),
                None => "none".to_owned(),
            },
        );
        if let Some((step, t)) = &self.run.touch {
            let maybe = if t.exact { "" } else { ", perhaps" };
            row("first touch", format!("step {:.3}{maybe}: {}", *step as f64 + t.time, what(&t.touch)));
        }
        let pairs = self.over(|r| r.pairs as f64);
        row("pairs", most(&pairs, count(pairs.most as usize)));
        if self.question.own {
            let own = self.over(|r| (r.own[0] + r.own[1]) as f64);
            row("within a mesh", most(&own, count(own.most as usize)));
        }
        if self.question.contacts {
            let deepest = self.over(|r| r.deepest);
            row("deepest pair", most(&deepest, units::length(deepest.most)));
        }
        if let Some([x, y]) = self.run.rows.last().map(|r| r.off).filter(|off| *off != [0; 2]) {
            row("switched off", format!("{} and {} triangles at the end", count(x), count(y)));
        }
        row("a step took", took(&self.over(Row::whole_us)));
        row("moving vertices", took(&self.over(|r| r.us[0])));
        row("finding pairs", took(&self.over(|r| r.us[1])));
        if cut > 0 && refit > 0 {
            row("by cuts", format!("{} in the mean", time(self.mean_us(Way::Cut))));
            row("by boxes", format!("{} in the mean", time(self.mean_us(Way::Refit))));
        }
        let built: Vec<&Row> = self.run.rows.iter().filter(|r| r.stats.built > 0).collect();
        if let [first, more @ ..] = &built[..] {
            let again =
                if more.is_empty() { String::new() } else { format!(", and {} times more", more.len()) };
            row("boxes built", format!("step {}, which took {}{again}", first.step, time(first.us[1])));
        }
        if self.question.own {
            row("within each", took(&self.over(|r| r.us[2])));
        }
        if self.question.contacts {
            row("their contacts", took(&self.over(|r| r.us[3])));
        }
        row("hash of all pairs", format!("{:016x}", self.run.hash));
        out
    }

    /// What the reader should know.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        if self.run.every > 1 && self.question.keep {
            out.push(format!(
                "one step in {} is on the page and in the picture: there are many vertices or steps; the tables have them all",
                self.run.every
            ));
        }
        if self.run.interrupted {
            out.push(format!(
                "stopped by Ctrl-C or a signal to end after {} of {} steps: what was found until then is kept",
                self.run.rows.len(),
                self.scene.motion.steps
            ));
        }
        out
    }
}
