//! Plays many histories, and makes those that go wrong small.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{
    check::{Verdict, Wrong, check, check_head},
    play::play,
    recorder::Recorder,
    step::{Choice, Kind, Step, Who, text},
};

/// A search.
#[derive(Clone, Debug)]
pub(super) struct Search {
    pub(super) choice: Choice,
    pub(super) seed: u64,
    pub(super) histories: usize,
    pub(super) lengths: std::ops::RangeInclusive<usize>,
    /// Only one history of six has other than the least length: tests that always run are to be over soon.
    pub(super) is_brief: bool,
    pub(super) jobs: usize,
    /// Lines of which the author is not known count as wrong.
    pub(super) is_strict: bool,
    /// The lines of HEAD are checked after each step that moves it, too.
    pub(super) asks_at_each_commit: bool,
    /// How many histories of each sort of wrong lines are made small.
    pub(super) shrunk: usize,
    /// When to start no further history.
    pub(super) limit: Option<Duration>,
    /// Each history that goes wrong is printed at once, too.
    pub(super) prints: bool,
}

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) histories: usize,
    pub(super) wrong_histories: usize,
    pub(super) lines: usize,
    pub(super) unknown: usize,
    /// How many lines, and how many histories, by what is wrong with them.
    pub(super) sorts: BTreeMap<String, (usize, usize)>,
    /// The small histories that go wrong, as people read them.
    pub(super) reports: Vec<String>,
}

impl Search {
    /// Returns the history of number `index`.
    pub(super) fn history(&self, index: usize) -> Vec<Step> {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&(index as u64).to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let (least, is_short) = (*self.lengths.start(), self.is_brief && !index.is_multiple_of(6));
        let lengths = if is_short { least..=least } else { self.lengths.clone() };
        let tree = self.choice.histories(lengths).new_tree(&mut runner);
        tree.expect("the strategy refuses nothing").current()
    }

    /// Plays all histories from `first` on.
    pub(super) fn run(&self, first: usize) -> Found {
        let (next, found, begun) = (AtomicUsize::new(first), Mutex::new(Found::default()), Instant::now());
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let is_over = self.limit.is_some_and(|limit| begun.elapsed() > limit);
                        if is_over || index >= first + self.histories {
                            break;
                        }
                        self.judge(index, &found);
                    }
                });
            }
        });
        found.into_inner().expect("no thread has panicked")
    }

    fn judge(&self, index: usize, found: &Mutex<Found>) {
        let steps = self.history(index);
        let (verdict, _) = self.play(&steps);
        let sorts = self.sorts(&verdict);
        let mut to_shrink = Vec::new();
        {
            let mut found = found.lock().expect("no thread has panicked");
            found.histories += 1;
            found.lines += verdict.lines;
            found.unknown += verdict.unknown;
            found.wrong_histories += usize::from(!sorts.is_empty());
            for (sort, lines) in sorts {
                let entry = found.sorts.entry(sort.clone()).or_default();
                (entry.0, entry.1) = (entry.0 + lines, entry.1 + 1);
                if entry.1 <= self.shrunk {
                    to_shrink.push(sort);
                }
            }
        }
        for sort in to_shrink {
            let small = self.shrink(&steps, &sort);
            let report = self.report(index, &sort, &small);
            #[expect(clippy::print_stderr, reason = "it is run by hand, and may take long")]
            if self.prints {
                eprintln!("{report}");
            }
            found.lock().expect("no thread has panicked").reports.push(report);
        }
    }

    /// Plays `steps`, and returns how they go wrong.
    pub(super) fn fault(&self, steps: &[Step]) -> Option<String> {
        let sorts = self.sorts(&self.play(steps).0);
        sorts.keys().next().map(|sort| self.report(0, sort, steps))
    }

    fn play(&self, steps: &[Step]) -> (Verdict, String) {
        let mut verdict = Verdict::default();
        // Without a hook, readers do not know the last commits yet.
        let asks_at_once = self.asks_at_each_commit && !self.choice.without_hooks;
        let ask = |recorder: &Recorder, number: usize| check_head(recorder, number, &mut verdict);
        let mut recorder = play(&self.choice, steps, asks_at_once.then_some(ask));
        check(&mut recorder, &mut verdict);
        (verdict, recorder.script().to_owned())
    }

    /// Returns what is wrong, and in how many lines.
    fn sorts(&self, verdict: &Verdict) -> BTreeMap<String, usize> {
        let mut sorts = BTreeMap::new();
        for wrong in verdict.wrong.iter().filter(|wrong| self.is_strict || wrong.said != "unknown") {
            *sorts.entry(wrong.sort()).or_default() += 1;
        }
        if !verdict.trouble.is_empty() {
            sorts.insert("trouble".to_owned(), verdict.trouble.len());
        }
        sorts
    }

    /// Returns the smallest history found that has a wrong line of `sort`: without the steps that are not needed, and
    /// with plain numbers.
    fn shrink(&self, steps: &[Step], sort: &str) -> Vec<Step> {
        let fails = |steps: &[Step]| self.sorts(&self.play(steps).0).contains_key(sort);
        let mut small = steps.to_vec();
        let mut size = small.len() / 2;
        while size > 0 {
            let (mut at, before) = (0, small.len());
            while at < small.len() {
                let mut fewer = small.clone();
                fewer.drain(at..(at + size).min(small.len()));
                if fails(&fewer) { small = fewer } else { at += size }
            }
            if size > 1 || small.len() == before {
                size /= 2;
            }
        }
        for at in 0..small.len() {
            let plainer: [fn(&Step) -> Step; 7] = [
                |step| Step { who: Who::Person, ..*step },
                |step| Step { who: Who::Agent(1), ..*step },
                |step| Step { kind: if step.kind.is_edit() { Kind::Insert } else { Kind::Commit }, ..*step },
                |step| Step { which: 0, ..*step },
                |step| Step { at: 255, ..*step },
                |step| Step { size: 1, ..*step },
                |step| Step { how: 1, ..*step },
            ];
            for plain in plainer {
                let mut tried = small.clone();
                tried[at] = plain(&small[at]);
                let is_back = tried[at].who == Who::Agent(1) && small[at].who == Who::Person;
                if tried != small && !is_back && fails(&tried) {
                    small = tried;
                }
            }
        }
        small
    }

    /// Returns how `steps` go wrong, and the script that repeats it.
    pub(super) fn report(&self, index: usize, sort: &str, steps: &[Step]) -> String {
        let (verdict, script) = self.play(steps);
        let mut text = format!("## {sort} (seed {}, history {index})\n\n--play '{}'\n\n", self.seed, text(steps));
        for wrong in verdict.wrong.iter().filter(|wrong| self.is_strict || wrong.said != "unknown") {
            let (view, place) = (wrong.view, &wrong.place);
            let when = wrong.step.map_or_else(String::new, |number| format!(" after step {number}"));
            text.push_str(&format!("- {view}{when}, {place}: '{}' is attributed to {}\n", wrong.text, wrong.said));
        }
        for trouble in &verdict.trouble {
            text.push_str(&format!("- {trouble}\n"));
        }
        text.push_str(&format!(
            "\n```sh\n{script}{}```\n",
            verdict.wrong.first().map_or_else(String::new, Wrong::question)
        ));
        text
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.reports.iter().try_for_each(|report| writeln!(out, "{report}"))?;
        let Self { histories, wrong_histories, lines, unknown, .. } = self;
        writeln!(out, "{histories} histories, {wrong_histories} go wrong; {lines} lines, {unknown} unknown")?;
        self.sorts
            .iter()
            .try_for_each(|(sort, (lines, histories))| writeln!(out, "{sort}: {lines} lines in {histories} histories"))
    }
}
