//! The seven transactions.

use std::hint::black_box;
use std::ops::ControlFlow;

use weft::{Error, Policy, Prefix, Result, Transaction};

use super::{CallForwarding, Number, Request, SpecialFacility, Subscriber, Tatp};
use crate::application::access::change;
use crate::application::{missing, rolled_back};

/// Name of the record that must exist.
const SUBSCRIBER: &str = "subscriber";

impl Tatp {
    /// Runs the requested transaction. Returns the number of records asked for or written.
    pub(super) async fn transact<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Request,
    ) -> Result<u32> {
        match *request {
            Request::GetSubscriberData { s_id } => self.get_subscriber_data(txn, s_id).await,
            Request::GetNewDestination {
                s_id,
                sf_type,
                start_time,
                end_time,
            } => {
                let found = self.get_new_destination(txn, s_id, sf_type, start_time, end_time);
                // The client would use the result.
                let (destinations, records) = found.await?;
                black_box(destinations);
                Ok(records)
            }
            Request::GetAccessData { s_id, ai_type } => {
                self.get_access_data(txn, s_id, ai_type).await
            }
            Request::UpdateSubscriberData {
                s_id,
                bit,
                sf_type,
                data_a,
            } => {
                self.update_subscriber_data(txn, s_id, bit, sf_type, data_a)
                    .await
            }
            Request::UpdateLocation { sub_nbr, location } => {
                self.update_location(txn, &sub_nbr, location).await
            }
            Request::InsertCallForwarding {
                sub_nbr,
                sf_type,
                start_time,
                end_time,
                numberx,
            } => {
                let row = CallForwarding { end_time, numberx };
                self.insert_call_forwarding(txn, &sub_nbr, sf_type, start_time, &row)
                    .await
            }
            Request::DeleteCallForwarding {
                sub_nbr,
                sf_type,
                start_time,
            } => {
                self.delete_call_forwarding(txn, &sub_nbr, sf_type, start_time)
                    .await
            }
        }
    }

    /// Returns the bytes of the coroutine of each kind.
    pub(super) fn frames<P: Policy>(&self, txn: &Transaction<P>) -> [usize; 7] {
        let nobody = [0; 15];
        let row = CallForwarding {
            end_time: 0,
            numberx: nobody,
        };
        [
            size_of_val(&self.get_subscriber_data(txn, 0)),
            size_of_val(&self.get_new_destination(txn, 0, 0, 0, 0)),
            size_of_val(&self.get_access_data(txn, 0, 0)),
            size_of_val(&self.update_subscriber_data(txn, 0, 0, 0, 0)),
            size_of_val(&self.update_location(txn, &nobody, 0)),
            size_of_val(&self.insert_call_forwarding(txn, &nobody, 0, 0, &row)),
            size_of_val(&self.delete_call_forwarding(txn, &nobody, 0, 0)),
        ]
    }

    async fn get_subscriber_data<P: Policy>(&self, txn: &Transaction<P>, s_id: u32) -> Result<u32> {
        let found = txn.get(&self.subscribers, &s_id).await?;
        // The client would use the result.
        black_box(found.ok_or_else(|| missing(SUBSCRIBER))?);
        Ok(1)
    }

    /// Returns the destinations of calls, and the number of records read.
    pub(super) async fn get_new_destination<P: Policy>(
        &self,
        txn: &Transaction<P>,
        s_id: u32,
        sf_type: u8,
        start_time: u8,
        end_time: u8,
    ) -> Result<(Vec<Number>, u32)> {
        let mut destinations = Vec::new();
        let facility = txn.get(&self.facilities, &(s_id, sf_type)).await?;
        if facility.is_none_or(|facility| facility.is_active == 0) {
            return Ok((destinations, 1));
        }
        let starts = (s_id, sf_type, 0)..=(s_id, sf_type, start_time);
        let visited = txn
            .scan(&self.forwardings, starts)
            .for_each(|_, forwarding| {
                if end_time < forwarding.end_time {
                    destinations.push(forwarding.numberx);
                }
                ControlFlow::Continue(())
            })
            .await?;
        Ok((destinations, 1 + visited as u32))
    }

    async fn get_access_data<P: Policy>(
        &self,
        txn: &Transaction<P>,
        s_id: u32,
        ai_type: u8,
    ) -> Result<u32> {
        // The client would use the result.
        black_box(txn.get(&self.access, &(s_id, ai_type)).await?);
        Ok(1)
    }

    async fn update_subscriber_data<P: Policy>(
        &self,
        txn: &Transaction<P>,
        s_id: u32,
        bit: u8,
        sf_type: u8,
        data_a: u8,
    ) -> Result<u32> {
        let set = |row: &mut Subscriber| row.bit[0] = bit;
        change(txn, &self.subscribers, &s_id, SUBSCRIBER, set).await?;
        let key = (s_id, sf_type);
        // Some subscribers do not have the facility.
        let set = |facility: &mut SpecialFacility| facility.data_a = data_a;
        txn.modify(&self.facilities, &key, set).await?;
        Ok(2)
    }

    async fn update_location<P: Policy>(
        &self,
        txn: &Transaction<P>,
        sub_nbr: &Number,
        location: u32,
    ) -> Result<u32> {
        let (s_id, _) = self.by_number(txn, sub_nbr).await?;
        let set = |row: &mut Subscriber| row.vlr_location = location.into();
        change(txn, &self.subscribers, &s_id, SUBSCRIBER, set).await?;
        Ok(1)
    }

    async fn insert_call_forwarding<P: Policy>(
        &self,
        txn: &Transaction<P>,
        sub_nbr: &Number,
        sf_type: u8,
        start_time: u8,
        row: &CallForwarding,
    ) -> Result<u32> {
        let (s_id, _) = self.by_number(txn, sub_nbr).await?;
        let mut has_facility = false;
        let visited = txn
            .scan(&self.facilities, Prefix((s_id,)))
            .for_each(|(_, of_type), _| {
                has_facility |= of_type == sf_type;
                ControlFlow::Continue(())
            })
            .await?;
        if !has_facility {
            return Err(rolled_back());
        }
        let key = (s_id, sf_type, start_time);
        match txn.insert(&self.forwardings, &key, row).await {
            Ok(()) => Ok(2 + visited as u32),
            Err(Error::DuplicateKey) => Err(rolled_back()),
            Err(error) => Err(error),
        }
    }

    async fn delete_call_forwarding<P: Policy>(
        &self,
        txn: &Transaction<P>,
        sub_nbr: &Number,
        sf_type: u8,
        start_time: u8,
    ) -> Result<u32> {
        let (s_id, _) = self.by_number(txn, sub_nbr).await?;
        let key = (s_id, sf_type, start_time);
        txn.delete(&self.forwardings, &key).await?;
        Ok(2)
    }

    async fn by_number<P: Policy>(
        &self,
        txn: &Transaction<P>,
        sub_nbr: &Number,
    ) -> Result<(u32, Subscriber)> {
        let found = txn.get_by(&self.by_number, sub_nbr).await?;
        found.ok_or_else(|| missing(SUBSCRIBER))
    }
}
