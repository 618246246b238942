mod derivative;
mod friction;
mod limits;
mod penalty;
mod reduced;
