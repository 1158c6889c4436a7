//! The tests of the typed interface as one program: each program that uses tables compiles their operations anew.
//! Tests that look at the threads of their process, or are killed, are programs of their own.

mod application_error;
mod backup;
mod bank;
mod bounds;
mod cancellation;
mod changes;
mod close;
mod ddl;
mod duplicate_key;
mod frame_size;
mod frames;
mod idle;
mod indexes;
mod indexes_after_opening;
mod interactive;
mod key_order;
mod larger_than_memory;
mod layers;
mod local;
mod memory_exhausted;
mod multi_get;
mod options;
mod panic;
mod prefix;
mod retry;
mod scans;
mod tables;
mod tokio_tasks;
mod too_long;
mod ttl;
mod values;
mod waiting;
