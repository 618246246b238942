//! Nearest points in clouds, beside other people's trees.

#[cfg_attr(not(test), expect(dead_code, reason = "the benchmark that asks them comes with the cloud index"))]
pub(crate) mod peers;
