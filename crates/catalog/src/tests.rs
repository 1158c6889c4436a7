//! The catalog on a disk that can crash.

mod bed;
mod beside_writers;
mod definitions;
mod drops;
mod indexes;
mod model;
mod sequences;
