//! palpate for C and C++. The manual is `include/palpate.h`, which a test holds to what is exported here.
//!
//! Every function that can fail returns a status and takes a place for a message last; see [`border`]. Objects are named by
//! numbers; see [`handle`]. Unsafe code is in [`border`] alone, besides the attributes that export names.

pub mod batch;
pub mod border;
pub mod error;
pub mod force;
pub mod handle;
pub mod mesh;
pub mod pair;
pub mod progress;
pub mod query;
pub mod reduce;
pub mod shape;
pub mod solid;
pub mod values;
pub mod version;
