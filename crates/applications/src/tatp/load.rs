//! Filling the register.

use weft::{Database, Index, IndexDefinition, Table, Transaction};

use super::population::{Entry, entry};
use super::{Number, Settings, Subscriber, Tatp};
use bench::databases;
use bench::loading::in_batches;
use commands::Result;
use commands::progress::Step;

/// Number of subscribers per transaction.
const BATCH: u64 = 4;

/// Makes and fills the tables; see [`Application::load`](crate::application::Application::load).
pub(super) fn load(settings: &Settings, database: &Database, step: &Step) -> Result<Tatp> {
    settings.check()?;
    let register = create(settings, database).map_err(databases::failure)?;
    let all = 1..u64::from(settings.subscribers) + 1;
    in_batches(database, all, BATCH, Some(step), |subscribers| {
        let register = register.clone();
        async move |txn: &Transaction| {
            for s_id in subscribers.clone() {
                let s_id = s_id as u32;
                register.enter(txn, s_id, &entry(s_id)).await?;
            }
            Ok(())
        }
    })?;
    Ok(register)
}

macro_rules! register {
    ($settings:ident, $database:ident.$table:ident) => {{
        let subscribers = $database.$table("subscriber")?;
        Ok(Tatp {
            settings: *$settings,
            by_number: by_number($database, &subscribers)?,
            subscribers,
            access: $database.$table("access_info")?,
            facilities: $database.$table("special_facility")?,
            forwardings: $database.$table("call_forwarding")?,
        })
    }};
}

/// Creates a register without subscribers.
fn create(settings: &Settings, database: &Database) -> weft::Result<Tatp> {
    register!(settings, database.create_table)
}

/// Opens the tables and attaches the index; see
/// [`Application::open`](crate::application::Application::open).
pub(super) fn open(settings: &Settings, database: &Database) -> weft::Result<Tatp> {
    register!(settings, database.open_table)
}

/// Makes the index, or attaches it after the database was opened.
fn by_number(
    database: &Database,
    subscribers: &Table<u32, Subscriber>,
) -> weft::Result<Index<Number, u32, Subscriber>> {
    let number = |_: u32, subscriber: Subscriber| Some(subscriber.sub_nbr);
    let definition = IndexDefinition::unique("subscriber_by_sub_nbr", number);
    database.create_index_blocking(subscribers, definition)
}

impl Tatp {
    async fn enter(&self, txn: &Transaction, s_id: u32, entry: &Entry) -> weft::Result<()> {
        txn.insert(&self.subscribers, &s_id, &entry.subscriber)
            .await?;
        for (ai_type, row) in &entry.access {
            txn.insert(&self.access, &(s_id, *ai_type), row).await?;
        }
        for facility in &entry.facilities {
            let key = (s_id, facility.sf_type);
            txn.insert(&self.facilities, &key, &facility.row).await?;
            for (start_time, row) in &facility.forwardings {
                let key = (s_id, facility.sf_type, *start_time);
                txn.insert(&self.forwardings, &key, row).await?;
            }
        }
        Ok(())
    }
}
