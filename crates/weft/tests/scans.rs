//! Scans in both directions, over all kinds of bounds, own writes included.

use std::ops::{Bound, ControlFlow};

use weft::{Database, Options, Table, Transaction};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

async fn keys(
    txn: &Transaction,
    table: &Table<u32, u32>,
    range: (Bound<u32>, Bound<u32>),
) -> weft::Result<Vec<u32>> {
    let forward = txn.scan(table, range).collect().await?;
    let mut backward = txn.scan(table, range).rev().collect().await?;
    backward.reverse();
    assert_eq!(forward, backward);
    let mut streamed = Vec::new();
    let mut rows = txn.range(table, range);
    while let Some(row) = rows.next().await? {
        streamed.push(row);
    }
    assert_eq!(rows.next().await?, None);
    assert_eq!(forward, streamed);
    let mut rows = txn.range(table, range).rev();
    while let Some(row) = rows.next().await? {
        assert_eq!(Some(row), streamed.pop());
    }
    assert!(streamed.is_empty());
    Ok(forward.into_iter().map(|(key, _)| key).collect())
}

#[test]
fn all_bounds_in_both_directions() {
    let db = open();
    let table: Table<u32, u32> = db.create_table("t").unwrap();
    db.run_blocking(async move |txn: &Transaction| {
        // The lengths are around those of the chunks of rows (16, then 64 each).
        for count in [0_u32, 1, 15, 16, 17, 79, 80, 81, 200] {
            for key in 0..count {
                txn.upsert(&table, &(key * 2), &key).await?;
            }
            for lower in [0, 1, 2, 30, count * 2] {
                for upper in [0, 1, 31, 32, count * 2] {
                    for range in [
                        (Bound::Included(lower), Bound::Included(upper)),
                        (Bound::Included(lower), Bound::Excluded(upper)),
                        (Bound::Excluded(lower), Bound::Included(upper)),
                        (Bound::Excluded(lower), Bound::Excluded(upper)),
                        (Bound::Unbounded, Bound::Excluded(upper)),
                        (Bound::Excluded(lower), Bound::Unbounded),
                        (Bound::Unbounded, Bound::Unbounded),
                    ] {
                        let expected: Vec<u32> = (0..count)
                            .map(|key| key * 2)
                            .filter(|key| std::ops::RangeBounds::contains(&range, key))
                            .collect();
                        assert_eq!(keys(txn, &table, range).await?, expected, "{range:?}");
                    }
                }
            }
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn rust_ranges_are_understood() {
    let db = open();
    let table: Table<String, u32> = db.create_table("t").unwrap();
    db.run_blocking(async move |txn: &Transaction| {
        for (number, key) in ["a", "b", "c", "d"].into_iter().enumerate() {
            txn.insert(&table, key, &(number as u32)).await?;
        }
        assert_eq!(txn.scan(&table, ..).count().await?, 4);
        assert_eq!(txn.scan(&table, "b"..).count().await?, 3);
        assert_eq!(txn.scan(&table, .."b").count().await?, 1);
        assert_eq!(txn.scan(&table, "b"..="c").count().await?, 2);
        assert_eq!(txn.scan(&table, ..="c".to_owned()).count().await?, 3);
        assert_eq!(txn.scan(&table, "b".."b").count().await?, 0);
        assert_eq!(txn.scan(&table, "c".."b").count().await?, 0);
        let mut seen = Vec::new();
        let visited = txn
            .scan(&table, ..)
            .rev()
            .for_each(|key, _| {
                seen.push(key);
                if seen.len() == 2 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .await?;
        assert_eq!((visited, seen), (2, vec!["d".to_owned(), "c".to_owned()]));
        Ok(())
    })
    .unwrap();
}

#[test]
fn scans_see_own_writes_and_no_others() {
    let db = open();
    let table: Table<u32, u32> = db.create_table("t").unwrap();
    let txn = db.begin_blocking().unwrap();
    txn.insert(&table, &1, &1).unwrap();
    txn.insert(&table, &2, &2).unwrap();
    txn.insert(&table, &3, &3).unwrap();
    txn.commit().unwrap();

    let txn = db.begin_blocking().unwrap();
    txn.delete(&table, &1).unwrap();
    txn.update(&table, &2, &20).unwrap();
    txn.insert(&table, &4, &40).unwrap();
    let other = db.begin_blocking().unwrap();
    other.insert(&table, &5, &50).unwrap();
    other.commit().unwrap();
    assert_eq!(
        txn.scan(&table, .., 10).unwrap(),
        [(2, 20), (3, 3), (4, 40)]
    );
    let other = db.begin_blocking().unwrap();
    assert_eq!(
        other.scan(&table, .., 10).unwrap(),
        [(1, 1), (2, 2), (3, 3), (5, 50)]
    );
}
