//! What judges palpate and is never shipped: exact slow answers, peers, paper tables.

pub mod oracle;
