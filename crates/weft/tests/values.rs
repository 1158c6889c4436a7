//! Values of all kinds are read as they were written, and bytes that do not decode as their type
//! are an error.

use weft::{Database, Error, Options, Table, Transaction, Value};

fn check<V: Value + PartialEq + std::fmt::Debug + Clone + Sync>(db: &Database, values: &[V]) {
    let name = V::type_name();
    let table: Table<u64, V> = db.create_table(&name).unwrap();
    let values = values.to_vec();
    db.run_blocking(async move |txn: &Transaction| {
        for (key, value) in (0_u64..).zip(&values) {
            txn.insert(&table, &key, value).await?;
            assert_eq!(txn.get(&table, &key).await?.as_ref(), Some(value));
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn values_come_back_as_they_were() {
    let db = Database::open(Options {
        workers: 1,
        ..Options::default()
    })
    .unwrap();
    check::<u8>(&db, &[0, 255]);
    check::<u16>(&db, &[0, u16::MAX]);
    check::<u32>(&db, &[1, u32::MAX]);
    check::<u128>(&db, &[1, u128::MAX]);
    check::<i8>(&db, &[-1, i8::MIN]);
    check::<i16>(&db, &[-1, i16::MIN]);
    check::<i32>(&db, &[-1, i32::MIN]);
    check::<i64>(&db, &[-1, i64::MIN]);
    check::<i128>(&db, &[-1, i128::MIN]);
    check::<f32>(&db, &[-0.5, f32::MAX]);
    check::<f64>(&db, &[-0.5, f64::MAX]);
    check::<bool>(&db, &[true, false]);
    check::<()>(&db, &[()]);
    check::<[u8; 3]>(&db, &[[1, 2, 3]]);
    check::<Vec<u8>>(&db, &[vec![], vec![0; 5000]]);
    check::<String>(&db, &[String::new(), "Gewebe, tissé".to_owned()]);
    #[cfg(feature = "postcard")]
    check(
        &db,
        &[weft::Postcard((1_u32, "one".to_owned(), None::<bool>))],
    );
}

#[test]
fn borrowed_values_are_read_in_place() {
    let db = Database::open(Options {
        workers: 1,
        ..Options::default()
    })
    .unwrap();
    let texts: Table<u8, String> = db.create_table("texts").unwrap();
    db.run_blocking(async move |txn: &Transaction| {
        txn.insert(&texts, &1, "warp and weft").await?;
        let words = txn
            .get_with(&texts, &1, |text| text.split(' ').count())
            .await?;
        assert_eq!(words, Some(3));
        assert_eq!(txn.get_with(&texts, &2, str::len).await?, None);
        Ok(())
    })
    .unwrap();
}

/// A codec that accepts nothing.
#[derive(Debug)]
struct Unreadable;

impl Value for Unreadable {
    type Encoded<'v> = [u8; 1];

    fn type_name() -> std::borrow::Cow<'static, str> {
        "unreadable".into()
    }

    fn encode(&self) -> [u8; 1] {
        [1]
    }

    fn decode(_: &[u8]) -> Result<Unreadable, weft::DecodeError> {
        Err(weft::DecodeError::new("never"))
    }
}

#[test]
fn a_value_that_cannot_be_decoded_is_an_error() {
    let db = Database::open(Options {
        workers: 1,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u8, Unreadable> = db.create_table("t").unwrap();
    db.run_blocking(async move |txn: &Transaction| {
        txn.insert(&table, &1, &Unreadable).await?;
        assert!(matches!(txn.get(&table, &1).await, Err(Error::Decode(_))));
        let rows = txn.scan(&table, ..).collect().await;
        assert!(matches!(rows, Err(Error::Decode(_))));
        let row = txn.range(&table, ..).next().await;
        assert!(matches!(row, Err(Error::Decode(_))));
        assert!(txn.contains(&table, &1).await?);
        assert!(txn.delete(&table, &1).await?);
        Ok(())
    })
    .unwrap();
}
