//! The tables that CH-benCHmark adds to those of TPC-C: suppliers, nations and regions.
//!
//! Stock of item `i` in warehouse `w` is supplied by supplier `w * i` modulo 10,000. A nation's key is the code of a
//! digit or letter, and the first letter of a customer's state is the key of the customer's nation. Since states are
//! capitals in our rows, the nations that the queries name have capitals as their keys, as far as possible those that
//! they begin with.

use bench::distribution::{Rng, below, rng};
use commands::{Result, progress::Step};
use postgres::Client;
use servers::{Rows, failed};

const TABLES: &str = "\
create table region (
    r_regionkey int primary key, r_name varchar(25) not null, r_comment varchar(152) not null);
create table nation (
    n_nationkey int primary key, n_name varchar(25) not null, n_regionkey int not null,
    n_comment varchar(152) not null);
create table supplier (
    su_suppkey int primary key, su_name varchar(25) not null, su_address varchar(40) not null,
    su_nationkey int not null, su_phone char(15) not null, su_acctbal numeric(12, 2) not null,
    su_comment varchar(101) not null)";

const DROPS: &str = "drop table region, nation, supplier";

const REGIONS: [&str; 5] = ["Africa", "America", "Asia", "Europe", "Middle East"];

/// Nations of each region, each with the character whose code is its key.
const NATIONS: [&[(u8, &str)]; 5] = [
    &[
        (b'0', "Algeria"),
        (b'1', "Angola"),
        (b'E', "Ethiopia"),
        (b'K', "Kenya"),
        (b'M', "Morocco"),
        (b'T', "Tunisia"),
        (b'W', "Botswana"),
        (b'Z', "Zambia"),
        (b'g', "Ghana"),
        (b'm', "Mozambique"),
        (b's', "Senegal"),
        (b'z', "Zimbabwe"),
    ],
    &[
        (b'2', "Bolivia"),
        (b'3', "Chile"),
        (b'A', "Argentina"),
        (b'B', "Brazil"),
        (b'P', "Peru"),
        (b'U', "United States"),
        (b'X', "Mexico"),
        (b'c', "Canada"),
        (b'e', "Ecuador"),
        (b'h', "Honduras"),
        (b'p', "Panama"),
        (b'u', "Uruguay"),
        (b'v', "Venezuela"),
    ],
    &[
        (b'4', "Mongolia"),
        (b'5', "Nepal"),
        (b'C', "Cambodia"),
        (b'I', "India"),
        (b'J', "Japan"),
        (b'S', "Sri Lanka"),
        (b'V', "Vietnam"),
        (b'b', "Bangladesh"),
        (b'i', "Indonesia"),
        (b'k', "Korea"),
        (b'l', "Laos"),
        (b't', "Thailand"),
        (b'x', "China"),
    ],
    &[
        (b'6', "Austria"),
        (b'7', "Belgium"),
        (b'D', "Denmark"),
        (b'F', "France"),
        (b'G', "Germany"),
        (b'H', "Hungary"),
        (b'N', "Netherlands"),
        (b'R', "Romania"),
        (b'f', "Finland"),
        (b'n', "Norway"),
        (b'r', "Russia"),
        (b'w', "United Kingdom"),
    ],
    &[
        (b'8', "Bahrain"),
        (b'9', "Cyprus"),
        (b'L', "Lebanon"),
        (b'O', "Oman"),
        (b'Q', "Qatar"),
        (b'Y', "Yemen"),
        (b'a', "Saudi Arabia"),
        (b'd', "Egypt"),
        (b'j', "Jordan"),
        (b'o', "Iraq"),
        (b'q', "Iran"),
        (b'y', "Syria"),
    ],
];

/// Number of suppliers, which the queries have in their texts.
const SUPPLIERS: u32 = 10_000;

/// Suppliers between two whose comments have the word that query 16 looks for: 5 of 10,000 have it, as in TPC-H.
const BETWEEN_BAD: u32 = SUPPLIERS / 5;

/// Letters and digits of texts.
const ALPHANUMERIC: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Stream of the random numbers of suppliers.
const STREAM: u64 = 0xc4 << 56;

/// Returns the number of rows of the three tables.
pub(crate) fn rows() -> u64 {
    let nations: usize = NATIONS.iter().map(|nations| nations.len()).sum();
    (REGIONS.len() + nations) as u64 + u64::from(SUPPLIERS)
}

/// Makes the tables and fills them.
///
/// # Errors
/// Errors of the server: the tables must not exist.
pub(crate) fn load(client: &mut Client, seed: u64, step: &Step) -> Result<()> {
    client.batch_execute(TABLES).map_err(failed)?;
    let mut rows = Rows::into(client, "region", step);
    for (region, name) in REGIONS.iter().enumerate() {
        rows.push(format_args!("{region},'{name}',''"))?;
    }
    rows.finish()?;
    let mut rows = Rows::into(client, "nation", step);
    for (region, nations) in NATIONS.iter().enumerate() {
        for (key, name) in *nations {
            rows.push(format_args!("{key},'{name}',{region},''"))?;
        }
    }
    rows.finish()?;
    let mut rows = Rows::into(client, "supplier", step);
    for supplier in 0..SUPPLIERS {
        rows.push(format_args!("{}", row(supplier, seed)))?;
    }
    rows.finish()
}

/// Drops the tables.
///
/// # Errors
/// Errors of the server.
pub(crate) fn unload(client: &mut Client) -> Result<()> {
    client.batch_execute(DROPS).map_err(failed)
}

/// Returns the values of a supplier, as literals.
fn row(supplier: u32, seed: u64) -> String {
    let random = &mut rng(seed, STREAM | u64::from(supplier));
    let address_length = within(random, 10, 40);
    let address = text(random, address_length);
    let nation = ALPHANUMERIC[within(random, 0, ALPHANUMERIC.len() as u64 - 1) as usize];
    let phone = within(random, 100_000_000_000_000, 999_999_999_999_999);
    let balance = within(random, 0, 1_000_000) as f64 / 100.0;
    let comment_length = within(random, 63, 97);
    let comment = text(random, comment_length);
    let bad = match supplier % BETWEEN_BAD {
        0 => " bad",
        _ => "",
    };
    format!(
        "{supplier},'Supplier {supplier:09}','{address}',{nation},'{phone}',{balance:.2},'{comment}{bad}'"
    )
}

/// Draws a number from `least` to `most`.
fn within(random: &mut Rng, least: u64, most: u64) -> u64 {
    least + below(random, most - least + 1)
}

/// Draws letters and digits.
fn text(random: &mut Rng, length: u64) -> String {
    let mut letter = || ALPHANUMERIC[below(random, ALPHANUMERIC.len() as u64) as usize];
    (0..length).map(|_| char::from(letter())).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_letter_and_digit_is_the_key_of_one_nation() {
        let all = || NATIONS.iter().flat_map(|nations| nations.iter());
        let keys: BTreeSet<u8> = all().map(|(key, _)| *key).collect();
        assert_eq!(keys, ALPHANUMERIC.iter().copied().collect());
        let names: BTreeSet<&str> = all().map(|(_, name)| *name).collect();
        assert_eq!((all().count(), names.len()), (keys.len(), keys.len()));
        // Customers have capitals in their states, and queries ask for the customers of these.
        for (key, name) in [(b'G', "Germany"), (b'C', "Cambodia")] {
            assert!(all().any(|nation| *nation == (key, name)));
        }
    }

    #[test]
    fn suppliers_follow_from_the_seed_and_fit_their_columns() {
        assert_eq!(row(7, 1), row(7, 1));
        assert_ne!(row(7, 1), row(7, 2));
        let bad = |supplier: &u32| row(*supplier, 1).contains(" bad");
        assert_eq!((0..SUPPLIERS).filter(bad).count(), 5);
        for supplier in 0..SUPPLIERS {
            let row = row(supplier, 1);
            let values: Vec<&str> = row.split(',').collect();
            let lengths = [1, 2, 4, 6].map(|at: usize| values[at].len() - 2);
            assert!(lengths[0] <= 25 && lengths[1] <= 40, "{row}");
            assert!(lengths[2] == 15 && lengths[3] <= 101, "{row}");
        }
    }
}
