//! Tests of statements and sessions, as one program: each program that runs sessions compiles them
//! anew. The tests that count allocations are a program of their own (`allocations.rs`).

#[path = "common/bed.rs"]
mod bed;

mod alter_table;
mod blocks;
mod copies;
mod copy;
mod dependencies;
mod explain;
mod foreign_keys;
mod giving_up;
mod hostile;
mod indexes;
mod join_filters;
mod lists;
mod logic;
mod many_matches;
mod memory;
mod order_of_errors;
mod plans;
mod portals;
mod positions;
mod random_queries;
mod sequences;
mod sessions;
mod settings;
mod sorting;
mod spilling;
mod turned_joins;
mod turns;
mod volatile;
mod workers;
