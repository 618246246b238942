//! The page on which shapes are touched, as `palpate serve` gives it to browsers: built from `web/live`, nothing is fetched.

/// The page itself.
pub const HTML: &str = include_str!("../web/live/dist/index.html");
/// What it runs.
pub const SCRIPT: &str = include_str!("../web/live/dist/live.js");
/// How it looks.
pub const STYLE: &str = include_str!("../web/live/dist/live.css");
/// Its icon.
pub const ICON: &str = include_str!("../web/live/dist/icon.svg");
