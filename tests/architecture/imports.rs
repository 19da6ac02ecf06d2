//! Which file uses what another file defines: imports and inline paths, followed through re-exports to the definition.
//!
//! Without types, a call of a method is no use of the file with the `impl`. Code for tests is left out.

use std::collections::{BTreeMap, BTreeSet};

use syn::{
    Attribute, Ident, Item, Macro, Meta, UseTree, Visibility,
    buffer::{Cursor, TokenBuffer},
    visit::{self, Visit},
};

/// The names of modules from the root of the crate on; or the segments of a path in code.
type Names = Vec<String>;

/// File -> the files that define what it uses, each with one path by which it does.
pub(super) type Imports = BTreeMap<String, BTreeMap<String, String>>;

/// Their re-exports are no uses: what they are for is to name what others define.
const FACADES: [&str; 2] = ["lib.rs", "testing.rs"];

/// Returns the imports of the crate that begins in `lib.rs`, given the text of each file.
pub(super) fn imports(texts: &BTreeMap<String, String>) -> Imports {
    let mut reader = Reader { texts, modules: BTreeMap::new(), module: Names::new() };
    reader.read_file(Names::new());
    let modules = Modules(reader.modules);
    let mut imports = Imports::new();
    for (name, module) in &modules.0 {
        let imported = imports.entry(module.file.clone()).or_default();
        for path in &module.used {
            for file in modules.files_defining(name, path).into_iter().filter(|file| *file != module.file) {
                imported.entry(file).or_insert_with(|| path.join("::"));
            }
        }
    }
    imports
}

/// What a name in a module stands for. It may stand for several things: a module and a function, say.
enum Binding {
    /// A type, a function, ... of this module.
    Definition,
    Child,
    Import(Names),
}

#[derive(Default)]
struct Module {
    file: String,
    bindings: BTreeMap<String, Vec<Binding>>,
    globs: Vec<Names>,
    used: BTreeSet<Names>,
}

struct Modules(BTreeMap<Names, Module>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(Names),
    /// Something that the file defines, or a member of that.
    In(String),
}

impl Modules {
    fn files_defining(&self, module: &Names, path: &[String]) -> BTreeSet<String> {
        let targets = self.resolve(module, path, &mut Vec::new()).into_iter();
        targets.filter_map(|target| if let Target::In(file) = target { Some(file) } else { None }).collect()
    }

    /// Returns what `path` stands for in `module`; nothing if that is in another crate.
    ///
    /// `open` has what is being resolved already, since imports may go round in circles.
    fn resolve(&self, module: &Names, path: &[String], open: &mut Vec<(Names, String)>) -> BTreeSet<Target> {
        let mut targets = BTreeSet::from([Target::Module(module.clone())]);
        for (at, segment) in path.iter().enumerate() {
            targets = match segment.as_str() {
                "crate" if at == 0 => BTreeSet::from([Target::Module(Names::new())]),
                "self" if at == 0 => targets,
                "super" => targets.into_iter().filter_map(Target::parent).collect(),
                name => targets.into_iter().flat_map(|target| self.members(target, name, open)).collect(),
            };
        }
        targets
    }

    fn members(&self, target: Target, name: &str, open: &mut Vec<(Names, String)>) -> BTreeSet<Target> {
        let Target::Module(module) = target else { return BTreeSet::from([target]) };
        let step = (module, name.to_owned());
        let Some(found) = self.0.get(&step.0).filter(|_| !open.contains(&step)) else { return BTreeSet::new() };
        open.push(step.clone());
        let module = &step.0;
        let mut targets = BTreeSet::new();
        for binding in found.bindings.get(name).into_iter().flatten() {
            match binding {
                Binding::Definition => targets.extend([Target::In(found.file.clone())]),
                Binding::Child => targets.extend([Target::Module([module.as_slice(), &[name.to_owned()]].concat())]),
                Binding::Import(path) => targets.extend(self.resolve(module, path, open)),
            }
        }
        if targets.is_empty() {
            for glob in &found.globs {
                let path = [glob.as_slice(), &[name.to_owned()]].concat();
                targets.extend(self.resolve(module, &path, open));
            }
        }
        open.pop();
        targets
    }
}

impl Target {
    fn parent(self) -> Option<Self> {
        let Self::Module(mut names) = self else { return None };
        names.pop().map(|_| Self::Module(names))
    }
}

/// Reads files and the files of the modules that they declare.
struct Reader<'a> {
    texts: &'a BTreeMap<String, String>,
    modules: BTreeMap<Names, Module>,
    /// The module that is being read.
    module: Names,
}

impl Reader<'_> {
    fn read_file(&mut self, module: Names) {
        let stem = if module.is_empty() { "lib".to_owned() } else { module.join("/") };
        let candidates = [format!("{stem}.rs"), format!("{stem}/mod.rs")];
        let file = candidates.into_iter().find(|file| self.texts.contains_key(file));
        let file = file.unwrap_or_else(|| panic!("module '{stem}' has no file"));
        let parsed = syn::parse_file(&self.texts[&file]).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.read_module(module, file, &parsed.items);
    }

    fn read_module(&mut self, module: Names, file: String, items: &[Item]) {
        self.modules.insert(module.clone(), Module { file, ..Module::default() });
        let outer = std::mem::replace(&mut self.module, module);
        for item in items {
            self.visit_item(item);
        }
        self.module = outer;
    }

    fn current(&mut self) -> &mut Module {
        self.modules.get_mut(&self.module).expect("it is entered before its items are read")
    }

    fn bind(&mut self, name: &str, binding: Binding) {
        self.current().bindings.entry(name.to_owned()).or_default().push(binding);
    }

    /// Binds the names that `tree` imports. Counts them as used, unless they are re-exported from a child or by a facade.
    fn import(&mut self, tree: &UseTree, before: &[String], is_private: bool) {
        let path = |ident: &Ident| [before, &[ident.to_string()]].concat();
        let (path, name) = match tree {
            UseTree::Path(below) => return self.import(&below.tree, &path(&below.ident), is_private),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(tree, before, is_private)),
            UseTree::Glob(_) => return self.current().globs.push(before.to_vec()),
            UseTree::Name(name) if name.ident == "self" => (before.to_vec(), before.last().cloned()),
            UseTree::Name(name) => (path(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(name) if name.ident == "self" => (before.to_vec(), Some(name.rename.to_string())),
            UseTree::Rename(name) => (path(&name.ident), Some(name.rename.to_string())),
        };
        let is_of_child = !["crate", "super"].contains(&path[0].as_str());
        if is_private || !is_of_child && !FACADES.contains(&self.current().file.as_str()) {
            self.current().used.insert(path.clone());
        }
        self.bind(&name.expect("'self' stands in a group after a name"), Binding::Import(path));
    }

    /// Counts the paths among unparsed tokens as used; of single names only those of types, as others may be variables.
    fn read_tokens(&mut self, mut cursor: Cursor<'_>) {
        let mut is_after_dot = false;
        while let Some((_, next)) = cursor.token_tree() {
            let was_after_dot = std::mem::replace(&mut is_after_dot, is_punct(cursor, '.').is_some());
            if let Some((inside, _, _, after)) = cursor.any_group() {
                self.read_tokens(inside);
                cursor = after;
            } else if let Some((first, mut after)) = cursor.ident() {
                let mut path = vec![first.to_string()];
                while let Some((name, rest)) = is_punct(after, ':').and_then(|rest| is_punct(rest, ':')?.ident()) {
                    path.push(name.to_string());
                    after = rest;
                }
                if !was_after_dot && (path.len() > 1 || path[0].starts_with(char::is_uppercase)) {
                    self.current().used.insert(path);
                }
                cursor = after;
            } else {
                if let Some((literal, _)) = cursor.literal() {
                    self.read_literal(&literal.to_string());
                }
                cursor = next;
            }
        }
    }

    /// Counts a text that is a path as used: attributes of `serde` have such.
    fn read_literal(&mut self, literal: &str) {
        let path: Names = literal.trim_matches('"').split("::").map(ToOwned::to_owned).collect();
        let is_name = |name: &String| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if path.len() > 1 && path.iter().all(is_name) {
            self.current().used.insert(path);
        }
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        let (attributes, name) = head(item);
        if attributes.iter().any(is_for_tests) {
            return;
        }
        if let Some(name) = name {
            self.bind(&name.to_string(), Binding::Definition);
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !item.attrs.iter().any(is_for_tests) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        let name = item.ident.to_string();
        let module = [self.module.as_slice(), std::slice::from_ref(&name)].concat();
        self.bind(&name, Binding::Child);
        match &item.content {
            Some((_, items)) => {
                let file = self.current().file.clone();
                self.read_module(module, file, items);
            }
            None => self.read_file(module),
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[], matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.current().used.insert(names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.visit_path(&call.path);
        self.read_tokens(TokenBuffer::new2(call.tokens.clone()).begin());
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.read_tokens(TokenBuffer::new2(list.tokens.clone()).begin());
        }
    }
}

/// Returns what comes after `character`, if that is next.
fn is_punct(cursor: Cursor<'_>, character: char) -> Option<Cursor<'_>> {
    cursor.punct().filter(|(punct, _)| punct.as_char() == character).map(|(_, rest)| rest)
}

fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<Ident>().is_ok_and(|condition| condition == "test")
}

/// Returns the attributes of `item`, and its name if it defines one other than that of a module.
fn head(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

/// Returns the imports of a crate as `file -> file (path)`.
fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let texts = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    let imports = imports(&texts);
    let of = |(file, imported): (&String, &BTreeMap<String, String>)| {
        imported.iter().map(|(other, path)| format!("{file} -> {other} ({path})")).collect::<Vec<_>>()
    };
    imports.iter().flat_map(of).collect()
}

#[rstest::rstest]
#[case::import("use crate::b::{B, other};", &["a.rs -> b.rs (crate::b::B)"])]
#[case::import_in_a_function("fn a() { use super::b::B; }", &["a.rs -> b.rs (super::b::B)"])]
#[case::inline_path("fn a(b: &crate::b::B) {}", &["a.rs -> b.rs (crate::b::B)"])]
#[case::path_from_an_imported_module("use crate::b; fn a() { b::make(1); }", &["a.rs -> b.rs (b::make)"])]
#[case::renamed_module("use super::b as c; fn a() -> c::B { loop {} }", &["a.rs -> b.rs (c::B)"])]
#[case::a_module_alone_is_none("use crate::b;", &[])]
#[case::member("fn a() { crate::b::B::new(); }", &["a.rs -> b.rs (crate::b::B::new)"])]
#[case::re_export("use crate::Known;", &["a.rs -> b.rs (crate::Known)"])]
#[case::private_import_of_the_parent("use super::private;", &["a.rs -> c/mod.rs (super::private)"])]
#[case::glob("use crate::b::*; fn a(b: B) {}", &["a.rs -> b.rs (B)"])]
#[case::in_a_macro(r#"fn a() { println!("{}", [crate::b::make(1)]); }"#, &["a.rs -> b.rs (crate::b::make)"])]
#[case::field_in_a_macro(r#"use crate::b; fn a(x: X) { println!("{}", x.b::<u8>()); }"#, &[])]
#[case::attribute_of_serde(r#"struct A { #[serde(with = "crate::b::make")] a: u8 }"#, &["a.rs -> b.rs (crate::b::make)"])]
#[case::generic_argument("fn a(b: Vec<crate::b::B>) {}", &["a.rs -> b.rs (crate::b::B)"])]
#[case::pattern("fn a(b: X) { match b { crate::b::B::One(_) => {} } }", &["a.rs -> b.rs (crate::b::B::One)"])]
#[case::inner_module("mod inner { use super::super::b::B; }", &["a.rs -> b.rs (super::super::b::B)"])]
#[case::other_crates("use gix::ObjectId; use ::b::B; fn a() { std::mem::take(x); }", &[])]
#[case::names_in_circles("use self::x::y; use self::y::x; fn a() { x::y(); y::x(); }", &[])]
#[case::public_import("pub use crate::b::B;", &["a.rs -> b.rs (crate::b::B)"])]
#[case::restricted_import("pub(crate) use super::{b::B, c::private};", &["a.rs -> b.rs (super::b::B)", "a.rs -> c/mod.rs (super::c::private)"])]
#[case::public_module("pub use super::b;", &[])]
#[case::of_a_child("use crate::c::d::D;", &["a.rs -> c/d.rs (crate::c::d::D)"])]
#[case::tests("#[cfg(test)] mod tests { use crate::b::B; } #[cfg(test)] use crate::b::B;", &[])]
fn paths_lead_to_the_file_that_defines_the_name(#[case] text: &str, #[case] expected: &[&str]) {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; pub use b::B as Known; use c::private;"),
        ("a.rs", text),
        ("b.rs", "pub struct B; pub fn make(x: u8) -> B { B }"),
        ("c/mod.rs", "pub mod d; pub fn private() {}"),
        ("c/d.rs", "pub struct D;"),
    ];
    let of_a: Vec<_> = edges(&files).into_iter().filter(|edge| edge.starts_with("a.rs")).collect();
    assert_eq!(of_a, expected);
}

#[rstest::rstest]
#[case::declaration("mod child; pub use child::{Child, call};", &[])]
#[case::restricted_re_export("mod child; pub(super) use child::Child;", &[])]
#[case::import("mod child; use child::Child;", &["a/mod.rs -> a/child.rs (child::Child)"])]
#[case::call("mod child; fn a() { child::call() }", &["a/mod.rs -> a/child.rs (child::call)"])]
#[case::use_of_a_re_export("mod child; pub use child::Child; fn a() -> Child { loop {} }", &["a/mod.rs -> a/child.rs (Child)"])]
#[case::declaration_for_tests("#[cfg(test)] mod child; #[cfg(test)] mod tests;", &[])]
fn a_parent_depends_on_children_only_by_use(#[case] text: &str, #[case] expected: &[&str]) {
    let files = [("lib.rs", "mod a;"), ("a/mod.rs", text), ("a/child.rs", "pub struct Child; pub fn call() {}")];
    assert_eq!(edges(&files), expected);
}

#[test]
fn a_facade_does_not_use_what_it_re_exports() {
    let files = [
        ("lib.rs", "mod a; mod testing; pub use crate::a::A;"),
        ("a.rs", "pub struct A;"),
        ("testing.rs", "pub use crate::a::A; pub mod inner { pub use crate::a::A; }"),
    ];
    assert_eq!(edges(&files), [""; 0]);
}
