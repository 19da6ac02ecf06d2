//! No file uses, directly or through others, a file that uses it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    imports::{Imports, imports},
    sources,
};

/// Files that are still in a cycle. The list only shrinks: a file that is in no cycle any more must leave it.
const STILL_CYCLIC: &[&str] = &[];

#[test]
fn files_do_not_import_each_other() {
    let texts = sources().into_iter().map(|source| (source.name, source.code)).collect();
    let imports = imports(&texts);
    let mut broken = Vec::new();
    let mut cyclic = BTreeSet::new();
    for cycle in cycles(&imports) {
        if cycle.iter().any(|file| !STILL_CYCLIC.contains(file)) {
            broken.push(picture(&cycle, &imports));
        }
        cyclic.extend(cycle);
    }
    for file in STILL_CYCLIC.iter().filter(|file| !cyclic.contains(**file)) {
        broken.push(format!("'{file}' is in no cycle any more: remove it from STILL_CYCLIC"));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
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
