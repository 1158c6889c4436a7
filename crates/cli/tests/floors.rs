//! The floors of `docs/ARCHITECTURE.md`: each crate uses crates of lower floors alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use packages::packages;

#[path = "common/packages.rs"]
mod packages;

const PAGE: &str = include_str!("../../../docs/ARCHITECTURE.md");

/// Returns floors by crate, from the page's list: `floor | crates | what they give`.
fn floors() -> BTreeMap<String, u32> {
    let (_, list) = PAGE.split_once("floor | crates |").unwrap();
    let (list, _) = list.split_once("```").unwrap();
    let mut floors = BTreeMap::new();
    for line in list.lines().skip(1) {
        let mut parts = line.split('|').map(str::trim);
        let floor: u32 = parts.next().unwrap().parse().unwrap();
        for name in parts.next().unwrap().split_whitespace() {
            let known = floors.insert(name.to_owned(), floor);
            assert_eq!(known, None, "{name} stands on two floors");
        }
    }
    floors
}

fn name(value: &Value) -> String {
    value["name"].as_str().unwrap().to_owned()
}

/// Returns each crate of the workspace, with the crates of the workspace that its manifest names,
/// except for tests.
fn manifests() -> BTreeMap<String, Vec<String>> {
    let packages = packages();
    let all: Vec<String> = packages.iter().map(name).collect();
    let uses = |package: &Value| {
        let named = package["dependencies"].as_array().unwrap().iter();
        // A crate of a registry may have the name of a crate of ours.
        let named = named
            .filter(|dependency| dependency["path"].is_string() && dependency["kind"] != "dev")
            .map(name);
        named
            .filter(|dependency| all.contains(dependency))
            .collect()
    };
    let manifests = packages
        .iter()
        .map(|package| (name(package), uses(package)));
    manifests.collect()
}

/// Returns arrows that do not point down, as sentences.
fn faults(
    floors: &BTreeMap<String, u32>,
    manifests: &BTreeMap<String, Vec<String>>,
) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, uses) in manifests {
        let Some(floor) = floors.get(name) else {
            faults.push(format!("docs/ARCHITECTURE.md gives {name} no floor"));
            continue;
        };
        for used in uses {
            if floors.get(used).is_some_and(|other| other >= floor) {
                faults.push(format!(
                    "{name}, on floor {floor}, uses {used} on no lower one"
                ));
            }
        }
    }
    let gone = floors.keys().filter(|name| !manifests.contains_key(*name));
    faults.extend(gone.map(|name| format!("docs/ARCHITECTURE.md names {name}, which is no crate")));
    faults
}

/// Returns all crates that a crate is built with.
fn closure(manifests: &BTreeMap<String, Vec<String>>, of: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = vec![of.to_owned()];
    while let Some(name) = left.pop() {
        for used in &manifests[&name] {
            if found.insert(used.clone()) {
                left.push(used.clone());
            }
        }
    }
    found
}

#[test]
fn the_product_is_built_without_benchmarks_and_the_protocol_without_sql() {
    let manifests = manifests();
    let product = closure(&manifests, "cli");
    for name in [
        "bench",
        "servers",
        "applications",
        "wire",
        "experiments",
        "sim",
        "weft-bench",
    ] {
        assert!(manifests.contains_key(name), "{name} is no crate any more");
        assert!(!product.contains(name), "weft is built with {name}");
    }
    let protocol = closure(&manifests, "server");
    let all: Vec<&str> = protocol.iter().map(String::as_str).collect();
    assert_eq!(all, ["interleave", "types"]);
}

#[test]
fn crates_use_lower_floors_alone() {
    assert_eq!(faults(&floors(), &manifests()), Vec::<String>::new());
}

/// The library that parses statements is behind `syntax`.
#[test]
fn the_parsing_library_is_behind_syntax() {
    let packages = packages();
    let depends = |package: &&Value| {
        let mut named = package["dependencies"].as_array().unwrap().iter();
        named.any(|dependency| name(dependency) == "sqlparser")
    };
    let users: BTreeSet<String> = packages.iter().filter(depends).map(name).collect();
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    assert_eq!(users, ["syntax"]);
}

#[test]
fn an_arrow_up_is_noticed() {
    let mut manifests = manifests();
    manifests.get_mut("syntax").unwrap().push("sql".to_owned());
    manifests.get_mut("weft").unwrap().push("syntax".to_owned());
    manifests.insert("attic".to_owned(), Vec::new());
    let mut floors = floors();
    floors.insert("cellar".to_owned(), 0);
    let level = floors["syntax"];
    floors.insert("weft".to_owned(), level);
    let faults = faults(&floors, &manifests);
    for words in [
        "syntax, on floor",
        "weft, on floor",
        "gives attic no floor",
        "names cellar",
    ] {
        let told = faults.iter().filter(|fault| fault.contains(words));
        assert_eq!(told.count(), 1, "{words}: {faults:?}");
    }
}
