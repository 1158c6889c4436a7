//! The engine's tests as one program: each program that uses tables compiles their operations anew.
//! Tests that count the bytes of the heap are a program of their own (`memory_ceiling.rs`).

#[path = "common/by_hand.rs"]
mod by_hand;
#[path = "common/durable.rs"]
mod durable;
#[path = "common/in_memory.rs"]
mod in_memory;
#[path = "common/index_kinds.rs"]
mod index_kinds;
#[path = "common/rng.rs"]
mod rng;
#[path = "common/stepping.rs"]
mod stepping;
#[path = "common/steps.rs"]
mod steps;

mod admission;
mod anomalies;
mod backup;
mod blocks;
mod blocks_on_device;
mod changes;
mod changes_of_tables;
mod check;
mod cold;
mod commands;
mod ddl;
mod ddl_storm;
mod divided_builds;
mod durability;
mod found_by_crashes;
mod full_disk;
mod idle_lane;
mod index_build;
mod index_model;
mod index_operations;
mod indexes_in_transactions;
mod large_transactions;
mod locks;
mod model;
mod modify;
mod moving_snapshots;
mod multi_get;
mod phantoms;
mod present;
mod recorded_indexes;
mod records;
mod rows;
mod salvage;
mod sample;
mod savepoints;
mod scans_in_turns;
mod shared_snapshots;
mod statement_snapshots;
mod table_locks;
mod temporary;
mod ttl;
mod ttl_elsewhere;
mod unattended;
