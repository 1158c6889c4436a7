//! A prefix stands for all keys that begin with it, and no others.

use weft::{Database, Options, Prefix, Table, Transaction};

#[test]
fn prefixes_of_tuples_and_text() {
    let db = Database::open(Options {
        workers: 1,
        ..Options::default()
    })
    .unwrap();
    let tuples: Table<(u8, String, u8), u32> = db.create_table("tuples").unwrap();
    let texts: Table<String, u32> = db.create_table("texts").unwrap();
    db.run_blocking(async move |txn: &Transaction| {
        let mut value = 0;
        for first in [0, 1, 254, 255] {
            for second in ["", "\0", "a", "ab", "b"] {
                for third in [0, 255] {
                    txn.insert(&tuples, &(first, second, third), &value).await?;
                    value += 1;
                }
            }
        }
        for first in [0_u8, 1, 254, 255] {
            let rows = txn.scan(&tuples, Prefix((first,))).collect().await?;
            assert_eq!(rows.len(), 10);
            assert!(rows.iter().all(|(key, _)| key.0 == first));
            for second in ["", "\0", "a", "ab", "b"] {
                let rows = txn.scan(&tuples, Prefix((first, second))).collect().await?;
                assert_eq!(rows.len(), 2);
                assert!(
                    rows.iter()
                        .all(|(key, _)| key.0 == first && key.1 == second)
                );
            }
        }
        for text in ["we", "web", "weft", "wet", "x"] {
            txn.insert(&texts, text, &0).await?;
        }
        assert_eq!(txn.scan(&texts, Prefix("we")).count().await?, 4);
        assert_eq!(txn.scan(&texts, Prefix("wef")).count().await?, 1);
        assert_eq!(txn.scan(&texts, Prefix("")).count().await?, 5);
        Ok(())
    })
    .unwrap();
}
