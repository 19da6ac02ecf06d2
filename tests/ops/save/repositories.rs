//! Kinds of repositories: where HEAD is, how refs and objects are stored, which worktree it is.

use super::{
    bench::{Bench, Scenario},
    child::Order,
};

#[rstest::rstest]
#[case::unborn("init; echo a >a; mkdir d; echo b >d/b", "echo x >>a; rm d/b")]
#[case::unborn_and_staged("init; echo a >a; git add a; echo b >b", "echo x >>a; git add b")]
#[case::unborn_and_empty("init", "echo a >a")]
#[case::orphan_branch("base; git checkout -q --orphan new; git rm -rfq .; echo a >a", "echo x >>a")]
#[case::detached("base; git checkout -q --detach", "echo x >>file")]
#[case::on_a_tag("base; git tag -a -m t t; git checkout -q t", "echo x >>file")]
#[case::sha256("base --object-format=sha256; echo u >u", "echo x >>file; mkdir n; echo n >n/n; rm dir/one")]
#[case::sha256_unborn("init --object-format=sha256; echo u >u", "echo x >>u")]
#[case::sha256_conflict(
    "base --object-format=sha256; git checkout -qb s; echo s >file; commit; git checkout -q main; echo m >file; commit; git merge -q s >/dev/null 2>&1 || true",
    "echo r >file"
)]
#[case::reftable("base --ref-format=reftable; echo u >u", "echo x >>file; rm dir/one")]
#[case::reftable_unborn("init --ref-format=reftable; echo u >u", "echo x >>u")]
#[case::reftable_detached("base --ref-format=reftable; git checkout -q --detach; echo u >u", "echo x >>file")]
#[case::reftable_sha256("base --ref-format=reftable --object-format=sha256; echo u >u", "echo x >>file")]
#[case::packed_refs("base; git branch other; git pack-refs --all; echo u >u", "echo x >>file")]
#[case::packed_objects("base; git gc -q; echo u >u", "echo x >>file")]
#[case::commit_graph_and_multi_pack_index(
    "base; git repack -qad; git multi-pack-index write --no-progress; git commit-graph write --no-progress; echo u >u",
    "echo x >>file"
)]
#[case::reflog_always("base; git config core.logAllRefUpdates always; echo u >u", "echo x >>file")]
#[case::separate_git_dir(
    "git init -q -b main --separate-git-dir $W/elsewhere .; echo a >a; commit",
    "echo x >>a; echo b >b"
)]
#[case::relative_gitfile("base; mv .git $W/home/g; echo 'gitdir: ../home/g' >.git", "echo x >>file")]
#[case::old_format("base; git config core.repositoryFormatVersion 0", "echo x >>file")]
#[case::worktree_config(
    "base; git config extensions.worktreeConfig true; git config --worktree core.autocrlf input",
    "printf 'a\\r\\n' >a"
)]
#[case::replaced_commit("base; echo x >>file; commit; git replace --graft HEAD; echo u >u", "echo x >>file")]
#[case::replaced_blob(
    "base; git replace -f $(git rev-parse HEAD:file) $(git rev-parse HEAD:dir/one); echo u >u",
    "echo x >>dir/one"
)]
#[case::replaced_tree(
    "base; git replace -f $(git rev-parse HEAD^{tree}) $(git rev-parse HEAD:dir); echo u >u",
    "echo x >>dir/one"
)]
#[case::precious_objects(
    "base; git config core.repositoryFormatVersion 1; git config extensions.preciousObjects true",
    "echo x >>file"
)]
#[case::symbolic_head_elsewhere(
    "base; git symbolic-ref HEAD refs/heads/a/b/c; git branch a/b/c main; echo u >u",
    "echo x >>file"
)]
fn any_repository(#[case] first: &str, #[case] then: &str) {
    Scenario::new(first, then).check();
}

#[rstest::rstest]
#[case::linked_worktree("base; git worktree add -q ../wt; echo u >../wt/u", "../wt")]
#[case::linked_detached("base; git worktree add -q --detach ../wt", "../wt")]
#[case::linked_called_main(
    "base; git worktree add -q ../main 2>/dev/null || git worktree add -q --detach ../main",
    "../main"
)]
#[case::linked_odd_name("base; git worktree add -q --detach '../w t.é.lock'", "../w t.é.lock")]
#[case::linked_below_the_main("base; git worktree add -q wt", "wt")]
#[case::linked_relative(
    "base; git -c worktree.useRelativePaths=true worktree add -q ../wt; printf 'gitdir: ../repo/.git/worktrees/wt\\n' >../wt/.git",
    "../wt"
)]
#[case::linked_orphan("base; git worktree add -q --orphan -b o ../wt; echo a >../wt/file", "../wt")]
#[case::linked_of_bare("base; git clone -q --bare . ../bare.git; git -C ../bare.git worktree add -q ../wt", "../wt")]
#[case::linked_sha256("base --object-format=sha256; git worktree add -q ../wt", "../wt")]
#[case::linked_reftable("base --ref-format=reftable; git worktree add -q ../wt", "../wt")]
#[case::linked_locked("base; git worktree add -q --lock ../wt", "../wt")]
#[case::linked_sparse("base; git worktree add -q ../wt; git -C ../wt sparse-checkout set --cone dir", "../wt")]
#[case::submodule(
    "base; git init -q ../lib; git -C ../lib commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule --quiet add ../lib sub; echo u >sub/file",
    "sub"
)]
#[case::nested_repository("base; git init -q sub; git -C sub commit -q --allow-empty -m x; echo u >sub/file", "sub")]
#[case::shared("base; git clone -q --shared . ../clone", "../clone")]
#[case::shared_twice("base; git clone -q --shared . ../one; git clone -q --shared ../one ../clone", "../clone")]
#[case::reference("base; git clone -q --reference . . ../clone", "../clone")]
#[case::shallow(
    "base; echo 2 >file; commit; echo 3 >file; commit; git clone -q --depth 1 file://$PWD ../clone",
    "../clone"
)]
#[case::core_worktree(
    "base; git config core.worktree $W/home/tree; mkdir $W/home/tree; cp -r file dir $W/home/tree; ln -s $PWD/.git $W/home/tree/.git",
    "../home/tree"
)]
#[case::sub_directory("base", "dir")]
fn any_worktree(#[case] first: &str, #[case] at: &str) {
    let change = format!("cd '{at}'; echo x >>file; echo new >new");
    Scenario::new(first, &change)
        .at(at)
        .oracle("cd \"$(git rev-parse --show-toplevel)\"; git add -A")
        .without_hints()
        .check();
}

#[rstest::rstest]
#[case::blobless("--filter=blob:none")]
#[case::treeless("--filter=tree:0")]
fn partial_clones_fetch_nothing(#[case] how: &str) {
    let bench = Bench::new(&format!(
        "base; git config uploadpack.allowFilter true; git config uploadpack.allowAnySHA1InWant true; echo 2 >file; commit; \
         git clone -q {how} file://$PWD ../clone; cd ../clone; git checkout -q main; echo x >>file; mkdir n; echo n >n/n; \
         git config core.autocrlf input; printf 'a\\r\\n' >crlf; mv $W/repo $W/gone; mkdir $W/repo"
    ));
    let bench = bench.at("../clone").oracle("git add -A --sparse");
    let missing = || {
        bench
            .git(&["rev-list", "--objects", "--all", "--missing=print", "--no-object-names"])
            .lines()
            .filter(|line| line.starts_with('?'))
            .count()
    };
    let before = missing();
    let saved = bench.save_warm_and_cold();
    assert!(saved.is_created());
    bench.run("cd ../clone; echo y >>dir/one; rm dir/deep/two");
    bench.save_warm_and_cold();
    bench.run("cd ../clone; echo z >>dir/one; rm n/n");
    bench.save_paths(vec!["dir/one".into(), "n/n".into()]);
    assert!(missing() >= before, "nothing was fetched");
}

/// Cone of the root directory only: the blobs of the others were never here.
#[test]
fn a_sparse_partial_clone_fetches_nothing() {
    let bench = Bench::new(
        "base; git config uploadpack.allowFilter true; git clone -q --filter=blob:none --sparse file://$PWD ../clone; \
         cd ../clone; echo x >>file; mkdir dir; echo new >dir/new; mv $W/repo $W/gone; mkdir $W/repo",
    );
    let bench = bench.at("../clone").oracle("git add -A --sparse");
    assert_eq!(bench.save_warm_and_cold().paths(), ["A dir/new", "M file"]);
    bench.run("cd ../clone; echo y >>file; rm dir/new");
    assert_eq!(bench.save_paths(vec!["file".into(), "dir/new".into()]).paths(), ["D dir/new", "M file"]);
}

#[test]
fn two_worktrees_on_one_base_have_a_shadow_each() {
    let bench = Bench::new("base; git worktree add -q ../wt; echo main >>file; echo linked >>../wt/file");
    let main = bench.save_warm_and_cold();
    let bench = bench.at("../wt").with_fresh_git_dir();
    let linked = bench.save_warm_and_cold();
    assert_ne!(main.text("ref"), linked.text("ref"));
    assert_ne!(main.tree(), linked.tree());
    assert_eq!(main.text("base"), linked.text("base"));
    assert!(main.text("ref").ends_with("/main") && linked.text("ref").ends_with("/wt"), "{main:?} {linked:?}");
    assert_eq!(bench.git(&["rev-parse", main.text("ref")]), main.id().expect("a checkpoint"));
}

#[test]
fn head_may_move_between_saves() {
    let bench = Bench::new("base; echo 1 >>file; echo u >u");
    let first = bench.save_warm_and_cold();
    bench.run("git add file; git commit -qm moved");
    let second = bench.save_warm_and_cold();
    assert_ne!(first.text("ref"), second.text("ref"), "another base, another shadow");
    assert_eq!(second.text("parent"), bench.git(&["rev-parse", "HEAD"]));
    assert_eq!(second.paths(), ["A u"]);
    bench.run("git reset -q --soft HEAD~1");
    let third = bench.save_warm_and_cold();
    assert_eq!(third.text("ref"), first.text("ref"));
    assert_eq!(third.id(), first.id(), "the same content on the same base");
    bench.run("echo 2 >>file; git stash -q");
    bench.save_warm_and_cold();
    bench.run("git stash pop -q; git checkout -q --detach; git branch -f elsewhere");
    bench.save_warm_and_cold();
    bench.run("git checkout -q --orphan unborn");
    let unborn = bench.save_warm_and_cold();
    assert_eq!(unborn.text("base"), "unborn");
    bench.run("git commit -qm first; echo 3 >>file");
    bench.save_warm_and_cold();
}

#[test]
fn a_clean_worktree_has_nothing_to_save() {
    let bench = Bench::new("base");
    let saved = bench.save_warm_and_cold();
    assert!(!saved.is_created() && saved.id().is_none(), "{saved:?}");
    assert_eq!(saved.text("parent"), bench.git(&["rev-parse", "HEAD"]));
    let forced = bench.save_with(&Order { allow_empty: true, ..Order::default() });
    assert!(forced.is_created() && forced.paths().is_empty(), "{forced:?}");
    assert_eq!(bench.git(&["rev-parse", &format!("{}^1", forced.id().expect("a checkpoint"))]), saved.text("parent"));
}

#[test]
fn settings_of_the_command_line_count() {
    let bench = Bench::new("base; printf 'a\\r\\n' >crlf; echo i >i.o; echo '*.o' >$W/ignore")
        .oracle("git -c core.autocrlf=input -c core.excludesFile=$W/ignore add -A");
    let order = Order {
        from_environment: true,
        environment: vec![(
            "GIT_CONFIG_PARAMETERS".into(),
            format!("'core.autocrlf'='input' 'core.excludesFile'='{}'", bench.world.root().join("ignore").display()),
        )],
        ..Order::default()
    };
    let saved = bench.save_with(&order);
    assert_eq!(saved.tree(), bench.expected_tree());
    let counted = Order {
        from_environment: true,
        environment: [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.autocrlf"),
            ("GIT_CONFIG_VALUE_0", "input"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into(),
        ..Order::default()
    };
    let bench = bench.oracle("git -c core.autocrlf=input add -A");
    assert_eq!(bench.save_with(&counted).tree(), bench.expected_tree());
}

#[test]
fn git_dir_and_work_tree_of_the_environment_count() {
    let bench = Bench::new("base; mkdir $W/home/tree; cp -r file dir $W/home/tree; echo x >>$W/home/tree/file");
    let order = Order {
        from_environment: true,
        environment: vec![
            ("GIT_DIR".into(), bench.world.repo().join(".git").display().to_string()),
            ("GIT_WORK_TREE".into(), bench.world.root().join("home/tree").display().to_string()),
        ],
        ..Order::default()
    };
    assert_eq!(bench.save_with(&order).paths(), ["M file"]);
    let library = Order { from_environment: false, ..order };
    let head = bench.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(bench.save_with(&library).tree(), head, "a library gets the path from its caller");
}

/// Or its checkpoints would continue those of the main one.
#[test]
fn a_linked_worktree_may_be_called_main() {
    let bench = Bench::new("base; git worktree add -q --detach ../main; echo main >>file; echo linked >>../main/file");
    let main = bench.save_warm_and_cold();
    let bench = bench.at("../main").with_fresh_git_dir();
    let linked = bench.save_warm_and_cold();
    assert_ne!(main.text("ref"), linked.text("ref"));
    assert_eq!(linked.text("parent"), bench.git(&["rev-parse", "HEAD"]));
}

#[test]
fn a_library_does_not_care_for_the_environment() {
    let bench = Bench::new(
        "base; echo '*.o' >.gitignore; echo o >a.o; cp .git/index $W/other; GIT_INDEX_FILE=$W/other git add -f a.o",
    );
    let other = bench.world.root().join("other").display().to_string();
    let environment = [
        ("GIT_INDEX_FILE", other.as_str()),
        ("GIT_OBJECT_DIRECTORY", other.as_str()),
        ("GIT_CONFIG_PARAMETERS", "'core.autocrlf'='true'"),
        ("GIT_DIR", "/no/such/directory"),
        ("GIT_WORK_TREE", "/no/such/directory"),
        ("GIT_NAMESPACE", "name"),
    ];
    let environment = environment.map(|(name, value)| (name.into(), value.into())).into();
    let saved = bench.save_with(&Order { environment, ..Order::default() });
    assert_eq!(saved.tree(), bench.expected_tree());
}

#[rstest::rstest]
#[case::objects("GIT_OBJECT_DIRECTORY")]
#[case::alternates("GIT_ALTERNATE_OBJECT_DIRECTORIES")]
#[case::common_dir("GIT_COMMON_DIR")]
fn unsupported_git_variables_are_refused(#[case] name: &str) {
    let bench = Bench::new("base; echo x >>file");
    let order = Order { from_environment: true, environment: vec![(name.into(), "/tmp".into())], ..Order::default() };
    let failure = bench.attempt(&order).expect_err("objects would go elsewhere");
    assert!(failure.message.contains(name) && failure.hint.is_some(), "{failure:?}");
}

#[test]
fn another_index_of_the_environment_counts() {
    let bench = Bench::new("base; echo '*.o' >.gitignore; echo o >a.o; cp .git/index $W/other; GIT_INDEX_FILE=$W/other git add -f a.o; echo x >>a.o")
        .oracle("cp -p $W/other $GIT_INDEX_FILE; git add -A");
    let order = Order {
        from_environment: true,
        environment: vec![("GIT_INDEX_FILE".into(), bench.world.root().join("other").display().to_string())],
        ..Order::default()
    };
    assert_eq!(bench.save_with(&order).tree(), bench.expected_tree());
    let bench = bench.oracle("git add -A");
    bench.save();
}
