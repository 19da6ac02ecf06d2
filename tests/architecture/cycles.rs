//! No file uses, directly or through others, a file that uses it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use super::{
    imports::{Imports, imports},
    sources,
};

#[test]
fn files_do_not_import_each_other() {
    let imports = imports_of_sources();
    let broken: Vec<String> = cycles(imports).iter().map(|cycle| picture(cycle, imports)).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// A unit is a file or a folder of `ops`. Each uses only units below it: there is an order in which no arrow runs up.
#[test]
fn units_of_operations_do_not_import_each_other() {
    let mut units = Imports::new();
    for (file, used) in imports_of_sources() {
        let Some(from) = unit(file) else { continue };
        for (used, path) in used {
            if let Some(to) = unit(used).filter(|to| *to != from) {
                units.entry(from.clone()).or_default().insert(to, format!("{file}: {path}"));
            }
        }
    }
    assert!(units.len() > 10, "the units are where they are looked for");
    let broken: Vec<String> = cycles(&units).iter().map(|cycle| picture(cycle, &units)).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// What brings records and shadows up to date with HEAD has one caller, which also takes the lock.
#[test]
fn only_the_way_in_follows_head() {
    let is_part = |file: &str| file.starts_with("ops/enter/");
    let parts = imports_of_sources().keys().filter(|file| is_part(file)).count();
    assert!(parts > 2, "its parts are where they are looked for");
    let mut broken = Vec::new();
    for (file, used) in imports_of_sources() {
        for (part, path) in used.iter().filter(|(used, _)| is_part(used)) {
            if file != "ops/enter.rs" && !is_part(file) {
                broken.push(format!("{file} -> {part} ({path})"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

fn imports_of_sources() -> &'static Imports {
    static IMPORTS: OnceLock<Imports> = OnceLock::new();
    IMPORTS.get_or_init(|| imports(&sources().into_iter().map(|source| (source.name, source.code)).collect()))
}

/// Returns the unit of `ops` that `file` belongs to; none for `ops/mod.rs`, which only declares them, and for other rooms.
fn unit(file: &str) -> Option<String> {
    let name = file.strip_prefix("ops/")?.split('/').next()?.trim_end_matches(".rs");
    (name != "mod").then(|| name.to_owned())
}

/// Returns the sets of files each of which uses all others of its set, directly or through others.
fn cycles(imports: &Imports) -> BTreeSet<BTreeSet<&str>> {
    let all: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reached(file, imports))).collect();
    let mut cycles = BTreeSet::new();
    for (file, reached) in &all {
        let mut cycle = reached.clone();
        cycle.retain(|other| all.get(other).is_some_and(|back| back.contains(file)));
        cycles.insert(cycle);
    }
    cycles.remove(&BTreeSet::new());
    cycles
}

/// Returns the files that `file` uses, directly or through others.
fn reached<'a>(file: &'a str, imports: &'a Imports) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(file) = open.pop() {
        let used = imports.get(file).into_iter().flat_map(BTreeMap::keys);
        open.extend(used.map(String::as_str).filter(|file| reached.insert(*file)));
    }
    reached
}

/// Returns a line for the cycle, and one for each use of one of its files by another.
fn picture(cycle: &BTreeSet<&str>, imports: &Imports) -> String {
    let mut text = format!("{} files import each other:", cycle.len());
    for file in cycle {
        for (used, path) in imports[*file].iter().filter(|(used, _)| cycle.contains(used.as_str())) {
            text.push_str(&format!("\n  {file} -> {used} ({path})"));
        }
    }
    text
}

#[test]
fn cycles_are_found_with_their_edges() {
    let edges = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "f"), ("f", "g"), ("g", "e"), ("g", "b")];
    let mut imports = Imports::new();
    for (file, used) in edges {
        imports.entry(file.to_owned()).or_default().insert(used.to_owned(), format!("{used}::x"));
    }
    let pictures: Vec<_> = cycles(&imports).iter().map(|cycle| picture(cycle, &imports)).collect();
    assert_eq!(
        pictures,
        [
            "2 files import each other:\n  b -> c (c::x)\n  c -> b (b::x)",
            "3 files import each other:\n  e -> f (f::x)\n  f -> g (g::x)\n  g -> e (e::x)",
        ]
    );
}
