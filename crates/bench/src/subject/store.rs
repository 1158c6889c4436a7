//! One database under measurement: a loaded table, every mode on the same workers.
//!
//! Each worker draws transactions from a source of its own (a closed loop):
//! no submission, no allocation, no thread switch per transaction. A mode is a
//! policy, a number in flight and a way to write the transaction:
//!
//! | mode | policy | in flight | transaction |
//! | --- | --- | --- | --- |
//! | bare | sequential | 1 | none: index, slot, version |
//! | sequential | sequential | 1 | flat |
//! | prefetch | prefetching | 1 | flat |
//! | amac-multiget, coroutine-multiget | sequential | 1 | reads as one group |
//! | interleaved | interleaved | as asked | flat |
//! | interleaved-nested | interleaved | as asked | five application levels |
//! | hybrid | interleaved | as asked | reads as one multi-get |

use std::cell::RefCell;
use std::ops::Range;
use std::sync::mpsc;
use std::time::Duration;

use weft::{Context, Database, Options, WorkerConfig};

use super::closed_loop::Client;
use super::counting::Counting;
use super::transaction::{Application, Buffers, Bytes};
use super::{DEVICE_P50, DEVICE_P99, RawRun, Run};
use crate::databases;
use crate::indexes::{self, Definition, Index};
use crate::limits::{Device, Region};
use crate::loading::in_batches;
use crate::plan::Plan;
use commands::progress::Step;
use commands::{Error, Result};

/// Number of records per transaction while loading and removing.
const LOAD_BATCH: u64 = 16;
/// Bytes of the device's own file, and the time for which it is measured before each run.
const DEVICE_BYTES: u64 = 16 << 20;
const DEVICE_DURATION: Duration = Duration::from_millis(100);
/// Number of transactions run to count the lines they touch.
const COUNTED_TRANSACTIONS: u32 = 500;

pub(crate) struct Store {
    database: Database,
    table: Bytes,
    plan: Plan,
    config: WorkerConfig,
    /// Indexes of the plan, once they are built.
    indexes: Vec<Index>,
    /// Device of the database, to be measured beside it.
    device: Option<Device>,
}

impl Store {
    /// Opens an empty store.
    pub(crate) fn open(plan: &Plan, options: Options) -> Result<Self> {
        let options = Options {
            workers: plan.comparison.workers,
            pin_workers: true,
            ..options
        };
        let config = options.worker_config();
        let directory = options.data_dir.clone();
        let database = Database::open(options).map_err(databases::failure)?;
        let table: Bytes = database.create_table("ycsb").map_err(databases::failure)?;
        Ok(Self {
            database,
            table,
            plan: plan.clone(),
            config,
            indexes: Vec::new(),
            device: directory
                .map(|directory| Device::new(&directory, DEVICE_BYTES))
                .transpose()?,
        })
    }

    fn application(&self, loaded: u64) -> Application {
        Application {
            table: self.table.clone(),
            key: self.plan.key,
            value: self.plan.value,
            loaded,
            verifier: RefCell::default(),
        }
    }

    /// Has all workers run `batch` for disjoint ranges that cover `all`.
    fn in_batches<F>(
        &self,
        all: Range<u64>,
        step: Option<&Step>,
        batch: impl Fn(Range<u64>) -> F,
    ) -> Result<()>
    where
        F: AsyncFn(&weft::Transaction) -> weft::Result<()> + Send + 'static,
    {
        in_batches(&self.database, all, LOAD_BATCH, step, batch)
    }
}

impl Store {
    /// Loads the plan's records; see [`Subject::load`](super::Subject::load).
    pub(crate) fn load(&self, step: &Step) -> Result<()> {
        let (key_shape, value_shape) = (self.plan.key, self.plan.value);
        self.in_batches(0..self.plan.records, Some(step), |records| {
            let table = self.table.clone();
            async move |txn: &weft::Transaction| {
                let mut buffers = Buffers::new(key_shape, value_shape);
                for record in records.clone() {
                    let word = key_shape.write(record, &mut buffers.key);
                    value_shape.write(word, 0, &mut buffers.value);
                    txn.insert(&table, &*buffers.key, &*buffers.value).await?;
                }
                Ok(())
            }
        })
    }

    /// Runs transactions; see [`Subject::run`](super::Subject::run).
    pub(crate) fn run(&self, run: &Run) -> Result<RawRun> {
        let mode = run.variant.mode;
        let device = match &self.device {
            Some(device) => Some(device.durable_writes(DEVICE_DURATION)?.percentiles()),
            None => None,
        };
        let config = WorkerConfig {
            in_flight: run.in_flight.of_mode(mode),
            ..self.config
        };
        let mut whole = RawRun::default();
        let counts = databases::run_on_all(
            &self.database,
            config,
            run.duration,
            |number, worker, sender| {
                let client = Client {
                    application: self.application(run.records.loaded()),
                    mode,
                    isolation: run.variant.isolation.into(),
                    declare_read_only: run.declare_read_only,
                    durability: run.variant.durability.into(),
                    source: run.source(number),
                    duration: run.duration,
                    stop: run.stop.clone(),
                    sender,
                };
                client.start(worker);
            },
            |part: RawRun| whole.merge(&part),
        )?;
        counts.add_to(&mut whole, run.variant);
        if let Some(device) = device {
            let extra = &mut whole.extra;
            extra.insert(DEVICE_P50.to_owned(), device.p50 as f64);
            extra.insert(DEVICE_P99.to_owned(), device.p99 as f64);
        }
        let memory = self.database.memory();
        let live = memory.index_bytes + memory.indirection_bytes + memory.version_bytes;
        whole.extra.insert(
            "memory_bytes_per_record".to_owned(),
            live as f64 / self.plan.records as f64,
        );
        whole.lines_touched = self
            .lines_per_operation(run)?
            .map(|lines| (lines * whole.operations as f64) as u64);
        Ok(whole)
    }

    /// Builds the plan's indexes; see [`Subject::index`](super::Subject::index).
    pub(crate) fn index(&mut self, step: &Step) -> Result<()> {
        let unique = (0..self.plan.unique_indexes).map(indexes::unique);
        let grouped = (0..self.plan.secondary_indexes)
            .map(|number| indexes::grouped(number, self.plan.records));
        for definition in unique.chain(grouped) {
            let index = self
                .create_index(definition)
                .wait()
                .map_err(databases::failure)?;
            self.indexes.push(index);
            step.advance(1);
        }
        Ok(())
    }

    /// Checks the indexes; see [`Subject::check`](super::Subject::check).
    pub(crate) fn check(&self) -> Result<bool> {
        let mut agree = true;
        for index in &self.indexes {
            agree &= self.agrees(index)?;
        }
        Ok(agree)
    }

    /// Builds an index beside the transactions.
    pub(crate) fn create_index(&self, definition: Definition) -> weft::Running<Index> {
        self.database.create_index(&self.table, definition)
    }

    /// Returns whether each record of the table has its one entry in the index, and the index no
    /// others.
    pub(crate) fn agrees(&self, index: &Index) -> Result<bool> {
        let report = self
            .database
            .check_index(index)
            .wait()
            .map_err(databases::failure)?;
        Ok(report.flaw_count == 0 && report.entries == report.records)
    }

    /// Drops an index.
    pub(crate) fn drop_index(&self, index: &Index) -> Result<()> {
        self.database
            .drop_index(index)
            .map_err(databases::failure)?;
        Ok(())
    }

    /// Removes added records; see [`Subject::restore`](super::Subject::restore).
    pub(crate) fn restore(&self, added: Range<u64>) -> Result<()> {
        let key_shape = self.plan.key;
        self.in_batches(added, None, |records| {
            let table = self.table.clone();
            async move |txn: &weft::Transaction| {
                for record in records.clone() {
                    txn.delete(&table, &*key_shape.key(record)).await?;
                }
                Ok(())
            }
        })
    }

    /// Returns the store's memory; see [`Subject::memory`](super::Subject::memory).
    pub(crate) fn memory(&self) -> Option<Region<'_>> {
        databases::memory(self.database.arena())
    }
}

impl Store {
    /// Returns the lines that an operation of this workload touches, by running some of them under
    /// a counting policy. Only reads and scans are counted: the lines of writes cannot be counted
    /// without changing the table.
    fn lines_per_operation(&self, run: &Run) -> Result<Option<f64>> {
        if !run.only_reads {
            return Ok(None);
        }
        let Some(worker) = self.database.workers().first() else {
            return Ok(None);
        };
        worker.configure(WorkerConfig {
            in_flight: weft::InFlight::Fixed(1),
            ..WorkerConfig::default()
        });
        let application = self.application(run.records.loaded());
        let mut source = run.source(0);
        let isolation = weft::Isolation::from(run.variant.isolation);
        let (sender, receiver) = mpsc::channel();
        worker.supply(move |context: Context| {
            let mut once = Some(application);
            move || {
                let application = once.take()?;
                let context = context.clone();
                let mut buffers = Buffers::new(application.key, application.value);
                let mut operations = 0;
                let draws: Vec<_> = (0..COUNTED_TRANSACTIONS)
                    .map(|_| {
                        source.transaction(&mut buffers.operations);
                        operations += buffers.operations.len();
                        buffers.operations.clone()
                    })
                    .collect();
                let sender = sender.clone();
                Some(move || async move {
                    Counting::take();
                    let mut outcome = Ok(());
                    for operations in draws {
                        buffers.operations = operations;
                        outcome = match context.begin::<Counting>(isolation) {
                            Ok(txn) => application.flat(&txn, &mut buffers).await,
                            Err(error) => Err(error),
                        };
                        if outcome.is_err() {
                            break;
                        }
                    }
                    let lines = Counting::take() as f64 / operations as f64;
                    // The receiver is waiting for this message.
                    let _ = sender.send(outcome.map(|()| lines));
                })
            }
        });
        match receiver.recv() {
            Ok(lines) => Ok(Some(lines.map_err(databases::failure)?)),
            Err(_) => Err(Error::run(
                "the worker ended while lines were counted; report this",
            )),
        }
    }
}
