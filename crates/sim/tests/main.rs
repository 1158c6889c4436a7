//! The simulation's tests as one program: each program that uses the simulation compiles it anew.

#[path = "common/seeds.rs"]
mod seeds;

mod columns;
mod crashes;
mod faults;
mod fuzz_smoke;
mod indexes;
mod read_committed;
mod serializable;
mod snapshot_isolation;
mod threads;
mod ttl;
mod waiting;
