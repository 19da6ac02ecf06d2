//! The invariants, on histories from nowhere.

use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::support::{AGENT, DIFFER, HUMAN, History, OTHER, bytes, counted};
use crate::model::attribution::{AuthorId, Committed, FileOwnership, Owner, Replay};

/// A unique line and its author; none for a base line.
type TrueLine = (usize, Option<AuthorId>);

#[derive(Clone, Debug)]
struct Edit {
    author: AuthorId,
    at: prop::sample::Index,
    deleted: usize,
    inserted: usize,
}

fn author() -> impl Strategy<Value = AuthorId> {
    prop::sample::select(vec![HUMAN, AGENT, OTHER])
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = (author(), any::<prop::sample::Index>(), 0..4usize, 0..5usize)
        .prop_map(|(author, at, deleted, inserted)| Edit { author, at, deleted, inserted });
    prop::collection::vec(edit, 0..12)
}

/// One word, so that no two lines are alike, and long enough to be evidence.
fn text(lines: &[TrueLine]) -> String {
    lines.iter().fold(String::new(), |text, (number, _)| text + &format!("w{number:020}\n"))
}

struct Truth {
    base: Vec<TrueLine>,
    versions: Vec<(AuthorId, Vec<TrueLine>)>,
    /// By base line.
    deleted_by: Vec<Option<AuthorId>>,
}

impl Truth {
    fn new(base: usize, edits: &[Edit]) -> Self {
        let base: Vec<TrueLine> = (0..base).map(|number| (number, None)).collect();
        let (mut lines, mut next) = (base.clone(), base.len());
        let mut deleted_by = vec![None; base.len()];
        let mut versions = Vec::new();
        for edit in edits {
            let at = edit.at.index(lines.len() + 1);
            let end = (at + edit.deleted).min(lines.len());
            let new = (next..next + edit.inserted).map(|number| (number, Some(edit.author)));
            next += edit.inserted;
            for (number, _) in lines.splice(at..end, new).filter(|(_, author)| author.is_none()) {
                deleted_by[number] = Some(edit.author);
            }
            versions.push((edit.author, lines.clone()));
        }
        Self { base, versions, deleted_by }
    }

    fn tip(&self) -> &[TrueLine] {
        self.versions.last().map_or(&self.base, |(_, lines)| lines)
    }

    fn history(&self) -> History {
        let history = History::new(&[("f", &text(&self.base))]);
        self.versions
            .iter()
            .fold(history, |history, (author, lines)| history.step(*author, &[("f", Some(&text(lines)))]))
    }
}

fn owners(file: &FileOwnership, lines: usize) -> Vec<Owner> {
    (1..=u32::try_from(lines).expect("few")).map(|line| file.owner(line)).collect()
}

fn expected(lines: &[TrueLine]) -> Vec<Owner> {
    lines.iter().map(|(_, author)| author.map_or(Owner::Base, Owner::Author)).collect()
}

/// Contents with many equal and similar lines.
fn noise() -> impl Strategy<Value = String> {
    let lines = ["}\n", "\n", "return nil;\n", "fn a() {\n", "  let x = 1;\n", "let x = 2;\n", "let y = x;\n", "b\n"];
    let line = prop_oneof![
        4 => prop::sample::select(lines.to_vec()).prop_map(str::to_owned),
        1 => "[a-c]{1,2}\n",
    ];
    (
        prop::collection::vec(line, 0..12),
        prop_oneof![9 => prop::sample::select(vec![""]), 1 => prop::sample::select(vec!["end", "}"])],
    )
        .prop_map(|(lines, end)| lines.concat() + end)
}

const PATHS: [&str; 3] = ["a", "b", "c"];

/// A content for each file, or none if it does not exist.
fn tree() -> impl Strategy<Value = Vec<Option<String>>> {
    prop::collection::vec(prop::option::weighted(0.8, noise()), 3)
}

type Version = (AuthorId, Vec<Option<String>>);

fn replayed(base: &[Option<String>], versions: &[Version], last: AuthorId) -> Vec<FileOwnership> {
    let files: Vec<(&'static str, &str)> =
        PATHS.into_iter().zip(base).filter_map(|(path, text)| Some((path, text.as_deref()?))).collect();
    let history = versions.iter().fold(History::new(&files), |history, (author, tree)| {
        let files: Vec<_> = PATHS.into_iter().zip(tree.iter().map(Option::as_deref)).collect();
        history.step(*author, &files)
    });
    history.commit(last, None).files
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn lines_that_differ_have_their_true_owner(base in 0..12usize, edits in edits()) {
        let truth = Truth::new(base, &edits);
        let ownership = truth.history().commit(HUMAN, None);
        let file = ownership.files.into_iter().next().unwrap_or_default();
        prop_assert_eq!(owners(&file, truth.tip().len()), expected(truth.tip()));
        let mut removed = Vec::new();
        for author in [HUMAN, AGENT, OTHER] {
            let count = truth.deleted_by.iter().filter(|by| **by == Some(author)).count();
            removed.extend((count > 0).then(|| (author, u32::try_from(count).expect("few"))));
        }
        prop_assert_eq!((file.removed, file.kept), (removed, 0));
    }

    #[test]
    fn a_part_of_the_work_has_the_owners_of_the_whole(base in 0..12usize, edits in edits(), chosen in any::<u64>()) {
        let truth = Truth::new(base, &edits);
        let mut lines = Vec::new();
        let mut from = 0;
        for (at, (old, new)) in counted(text(&truth.base).as_bytes(), text(truth.tip()).as_bytes()).into_iter().enumerate() {
            lines.extend_from_slice(&truth.base[from..old.start]);
            from = old.end;
            let is_chosen = chosen >> (at % 64) & 1 == 1;
            lines.extend_from_slice(if is_chosen { &truth.tip()[new] } else { &truth.base[old] });
        }
        lines.extend_from_slice(&truth.base[from..]);
        let committed = text(&lines);
        let ownership = truth.history().commit(HUMAN, Some(&[("f", &committed)]));
        let file = ownership.files.into_iter().next().unwrap_or_default();
        prop_assert_eq!(owners(&file, lines.len()), expected(&lines));
    }

    #[test]
    fn sums_are_gits(base in tree(), versions in prop::collection::vec((author(), tree()), 1..6)) {
        let last = versions.last().expect("there is one").1.clone();
        for file in replayed(&base, &versions, HUMAN) {
            let at = PATHS.iter().position(|path| file.path == *path).expect("one of them");
            let text = |tree: &[Option<String>]| tree[at].clone().unwrap_or_default();
            let (before, after) = (text(&base), text(&last));
            let edits = counted(before.as_bytes(), after.as_bytes());
            let sum = |lengths: Vec<usize>| u32::try_from(lengths.iter().sum::<usize>()).expect("few");
            prop_assert_eq!(file.added(), sum(edits.iter().map(|(_, new)| new.len()).collect()));
            prop_assert_eq!(file.deleted(), sum(edits.iter().map(|(old, _)| old.len()).collect()));
            prop_assert!(file.spans.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }

    #[test]
    fn more_checkpoints_by_the_same_change_nothing(
        base in tree(),
        versions in prop::collection::vec((author(), tree()), 1..5),
        between in tree(),
        at in any::<prop::sample::Index>(),
    ) {
        let at = at.index(versions.len());
        let (mut more, mut between) = (versions.clone(), between);
        for (path, between) in between.iter_mut().enumerate() {
            let next = &versions[at].1[path];
            let mut earlier = std::iter::once(&base).chain(versions[..at].iter().map(|(_, tree)| tree));
            // Where a file goes back to what it was or away, or a person's checkpoint lacks lines of others, it knows what nothing
            // else does.
            let is_gone = between.is_none() || next.is_none() || versions[at].0 == HUMAN;
            if is_gone || earlier.any(|tree| tree[path] == *between || tree[path] == *next) {
                between.clone_from(next);
            }
        }
        more.insert(at, (versions[at].0, between));
        prop_assert_eq!(replayed(&base, &more, HUMAN), replayed(&base, &versions, HUMAN));
    }

    #[test]
    fn an_author_without_changes_owns_nothing(base in tree(), versions in prop::collection::vec((prop::sample::select(vec![HUMAN, AGENT]), tree()), 1..5)) {
        let mut more = vec![(OTHER, base.clone())];
        for version in &versions {
            more.extend([version.clone(), (OTHER, version.1.clone())]);
        }
        prop_assert_eq!(replayed(&base, &more, HUMAN), replayed(&base, &versions, HUMAN));
    }

    #[test]
    fn a_commit_without_checkpoints_is_the_last_authors(before in noise(), after in noise()) {
        let entry = Committed { path: "f".into(), from: None, before: bytes(&before), after: bytes(&after), edits: None, author: AGENT };
        let file = Replay::new(DIFFER).finish(&[entry]).files.remove(0);
        prop_assert!(file.removed.iter().all(|(author, _)| *author == AGENT));
        let is_ours = |owner: Owner| matches!(owner, Owner::Base | Owner::Author(AGENT) | Owner::Mixed { of: AGENT, over: None, .. });
        prop_assert!(file.spans.iter().all(|span| is_ours(span.owner)));
    }
}
