//! Size of the database, and shares of the transactions.

use super::mix::Mix;
use commands::number::plural;
use commands::{Error, Result};

/// Rows of the table of suppliers (CH-benCHmark).
pub(super) const SUPPLIERS: u32 = 10_000;

/// Settings of a TPC-C database and of its terminals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Shares of the kinds of transactions.
    pub mix: Mix,
    /// Number of warehouses, from 1.
    pub warehouses: u16,
    /// Size of each warehouse.
    pub scale: Scale,
    /// Home warehouse of a terminal's transactions.
    pub home: Home,
    /// Number of suppliers that `Query2` looks at, from 1 to 10,000.
    pub suppliers: u32,
    /// Seed of all rows and of the constants of the distributions.
    pub seed: u64,
}

/// Numbers that the standard fixes. The default is the standard's; smaller ones are for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Number of items, and of stock records of each warehouse. At least 15.
    pub items: u32,
    /// Number of districts of a warehouse, from 1 to 10.
    pub districts: u8,
    /// Number of customers of a district, each of which has placed one order; 10 to 3,000. The
    /// newest three tenths of the orders are open.
    pub customers: u16,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            items: 100_000,
            districts: 10,
            customers: 3_000,
        }
    }
}

impl Scale {
    /// Least number of items: the longest order has as many lines.
    pub const ITEMS_MIN: u32 = 15;
    /// Least number of customers of a district.
    pub const CUSTOMERS_MIN: u16 = 10;

    /// Returns the number of orders of a district once it is loaded: one for each customer.
    pub(super) fn orders(&self) -> u32 {
        self.customers.into()
    }

    /// Returns the number of loaded orders that are delivered; they are the first ones.
    pub(super) fn delivered(&self) -> u32 {
        self.orders() - self.orders() * 3 / 10
    }

    /// Returns the number of last names that occur in each district.
    pub(super) fn names(&self) -> u16 {
        self.customers.min(1_000)
    }
}

/// Choices of the home warehouse of a worker's transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Home {
    /// Each transaction in a warehouse drawn for it.
    #[default]
    Random,
    /// All transactions of a worker in one warehouse, a different one for each worker while there
    /// are enough.
    Bound,
}

impl Home {
    /// Both choices.
    pub const ALL: [Self; 2] = [Self::Random, Self::Bound];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Bound => "bound",
        }
    }
}

impl std::str::FromStr for Home {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|home| home.name() == text)
            .ok_or_else(|| {
                Error::input(format!(
                    "`{text}` is not a home; choose from {}",
                    Self::ALL.map(Self::name).join(", ")
                ))
            })
    }
}

impl Settings {
    /// Returns the standard's settings, with this many warehouses.
    pub fn standard(mix: Mix, warehouses: u16) -> Self {
        Self {
            mix,
            warehouses,
            scale: Scale::default(),
            home: Home::default(),
            suppliers: 100,
            seed: 1,
        }
    }

    /// Returns the name of the mix in results: with the homes, unless they are drawn.
    pub fn mix_name(&self) -> String {
        match self.home {
            Home::Random => self.mix.name().to_owned(),
            Home::Bound => format!("{} bound", self.mix.name()),
        }
    }

    /// Returns a few words that describe the run.
    pub fn description(&self) -> String {
        let suppliers = match self.mix {
            Mix::TpccCh => format!(", {}", plural(self.suppliers.into(), "supplier")),
            _ => String::new(),
        };
        format!(
            "TPC-C: mix {}, {}{suppliers}, home {}",
            self.mix.name(),
            plural(self.warehouses.into(), "warehouse"),
            self.home.name(),
        )
    }

    /// Checks that such a database can be made.
    ///
    /// # Errors
    /// [`Error::Input`], which says what to change.
    pub fn check(&self) -> Result<()> {
        let Scale {
            items,
            districts,
            customers,
        } = self.scale;
        within("warehouses", self.warehouses.into(), 1, u16::MAX.into())?;
        within("items", items, Scale::ITEMS_MIN, Scale::default().items)?;
        within("districts", districts.into(), 1, 10)?;
        within(
            "customers",
            customers.into(),
            Scale::CUSTOMERS_MIN.into(),
            3_000,
        )?;
        within("suppliers", self.suppliers, 1, SUPPLIERS)
    }
}

fn within(what: &str, asked: u32, least: u32, most: u32) -> Result<()> {
    if (least..=most).contains(&asked) {
        return Ok(());
    }
    Err(Error::input(format!(
        "{asked} {what} are out of range; give a number from {least} to {most}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_s_numbers_are_the_default() {
        let settings = Settings::standard(Mix::Tpcc, 20);
        settings.check().unwrap();
        let scale = settings.scale;
        assert_eq!((scale.items, scale.districts), (100_000, 10));
        assert_eq!((scale.orders(), scale.delivered()), (3_000, 2_100));
        assert_eq!(scale.names(), 1_000);
    }

    #[test]
    fn settings_out_of_range_say_what_is_in_range() {
        let mut settings = Settings::standard(Mix::Tpcc, 0);
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("0 warehouses"), "{error}");
        settings.warehouses = 1;
        settings.suppliers = 10_001;
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("1 to 10000"), "{error}");
        settings.suppliers = 1;
        settings.scale.districts = 11;
        assert!(settings.check().is_err());
    }
}
