//! Versions of records that only others can have made.

use std::collections::BTreeMap;

use gix::objs::Kind as ObjectKind;

use super::{
    super::join::join_trees,
    join::{FIRST, number, record_id, repository, tree, with_record},
};
use crate::{
    git::{
        new_objects::{NewObjects, Target},
        whole_tree::{TreeEntry, add_tree},
    },
    model::{
        log_place::Place,
        record::{How, Link},
    },
};

/// Whatever the order, nothing is left of a version that is empty.
#[test]
fn empty_versions_do_not_depend_on_the_order_of_joins() {
    let (_directory, repo) = repository("sha1");
    let repo = repo.with_object_memory();
    let mut objects = NewObjects::new(&repo, Target::Memory);
    let empty = objects.add(ObjectKind::Tree, b"").expect("it can be written");
    let id = record_id(0);
    let mut with_empty = empty;
    for name in [empty.to_string().as_str(), "others", &id.as_str()[2..], &id.as_str()[..2]] {
        with_empty = add_tree(&repo, vec![TreeEntry::directory(name, with_empty)], &mut objects).expect("written");
    }
    let link = Link { record: id, commit: number(&repo, 1), from: None, how: How::Commit, only: Vec::new() };
    let path = format!("{}/{}/links/{}", &id.as_str()[..2], &id.as_str()[2..], link.commit);
    let links = tree(&repo, &BTreeMap::from([(path, link.to_toml().into_bytes())]), &mut objects);
    let logs = [with_empty, links, with_record(&repo, &FIRST, &mut objects)];
    let mut results = Vec::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut joined = logs[order[0]];
        for at in &order[1..] {
            joined = join_trees(&repo, Place::History, joined, logs[*at], &mut objects).expect("ours").0;
        }
        results.push(joined);
    }
    assert!(results.iter().all(|joined| *joined == results[0]), "{results:?}");
}
