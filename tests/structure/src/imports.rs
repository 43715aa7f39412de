//! Imports between the files of a crate, with the imported names.

use crate::tree::{Names, Tree};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// For a pair of files, the names that the first takes from the second.
pub type Imports = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// All imports between the files of a crate.
#[must_use]
pub fn imports(tree: &Tree) -> Imports {
    let mut found = Imports::new();
    for (id, module) in tree.modules.iter().enumerate() {
        let mut words = HashSet::new();
        let mut paths = Vec::new();
        for tokens in &module.tokens {
            scan(tokens.clone(), &mut words, &mut paths);
        }
        let mut add = |path: &Names| {
            let Some((target, name)) = Resolver::new(tree).resolve(id, path) else { return };
            let file = &tree.modules[target].file;
            if *file != module.file {
                found.entry((module.file.clone(), file.clone())).or_default().insert(name);
            }
        };
        for import in &module.imports {
            let is_used = import.name.as_ref().is_some_and(|n| words.contains(n));
            if !import.reexport || is_used {
                add(&import.path);
            }
        }
        for path in &paths {
            add(path);
        }
    }
    found
}

/// The same between the top-level modules of a crate: the files and folders in the folder of its root,
/// without the root itself.
#[must_use]
pub fn between_rooms(imports: &Imports, root: &Path) -> Imports {
    let folder = root.parent().unwrap_or(root);
    let room = |file: &Path| {
        let first = file.strip_prefix(folder).ok()?.components().next()?;
        let room = folder.join(first).with_extension("");
        (file != root).then_some(room)
    };
    let mut found = Imports::new();
    for ((from, to), names) in imports {
        if let (Some(from), Some(to)) = (room(from), room(to))
            && from != to
        {
            found.entry((from, to)).or_default().extend(names.iter().cloned());
        }
    }
    found
}

/// Collects all words of a text and all paths of two or more names, inside macros too.
fn scan(tokens: TokenStream, words: &mut HashSet<String>, paths: &mut Vec<Names>) {
    let mut path: Names = Vec::new();
    let mut colons = 0;
    let mut end = |path: &mut Names| {
        if path.len() > 1 {
            paths.push(std::mem::take(path));
        }
        path.clear();
    };
    let mut groups = Vec::new();
    let mut after_pub = false;
    for token in tokens {
        let is_visibility = std::mem::take(&mut after_pub) && names_module(&token);
        match token {
            // `pub(in path)` imports nothing.
            TokenTree::Group(_) if is_visibility => {}
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    end(&mut path);
                }
                let name = ident.to_string();
                after_pub = name == "pub";
                words.insert(name.clone());
                path.push(name);
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                end(&mut path);
                colons = 0;
                groups.push(group.stream());
            }
            _ => {
                end(&mut path);
                colons = 0;
            }
        }
    }
    end(&mut path);
    for group in groups {
        scan(group, words, paths);
    }
}

/// Whether a token is the `(in path)` of a visibility.
fn names_module(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(first)) if first == "in")
}

/// Names in a path of any real program.
const LONGEST: usize = 16;

/// Follows a path through modules and re-exports.
struct Resolver<'t> {
    tree: &'t Tree,
    // Globs may import each other.
    asked: HashSet<(usize, String)>,
}

impl<'t> Resolver<'t> {
    fn new(tree: &'t Tree) -> Self {
        Resolver { tree, asked: HashSet::new() }
    }

    /// The module that defines what `path` names in module `from`, and the name. `None` is another crate's.
    fn resolve(&mut self, from: usize, path: &[String]) -> Option<(usize, String)> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(0, rest),
            "self" => self.walk(from, rest),
            "super" => {
                let above = self.parent(from)?;
                if rest.is_empty() { Some((above, "*".to_owned())) } else { self.resolve_in(above, rest) }
            }
            _ => self.walk(from, path),
        }
    }

    /// The rest of a path after `super`, which may continue with `super`.
    fn resolve_in(&mut self, module: usize, rest: &[String]) -> Option<(usize, String)> {
        if rest[0] == "super" { self.resolve(module, rest) } else { self.walk(module, rest) }
    }

    fn parent(&self, module: usize) -> Option<usize> {
        let path = &self.tree.modules[module].path;
        let above = &path[..path.len().checked_sub(1)?];
        self.tree.modules.iter().position(|m| m.path == above)
    }

    fn walk(&mut self, module: usize, path: &[String]) -> Option<(usize, String)> {
        let Some((first, rest)) = path.split_first() else { return Some((module, "*".to_owned())) };
        // `use name::name` of another crate would recurse for ever.
        if path.len() > LONGEST || !self.asked.insert((module, path.join("::"))) {
            return None;
        }
        let tree = self.tree;
        let here = &tree.modules[module];
        if let Some(child) = here.children.get(first) {
            return self.walk(*child, rest);
        }
        if here.items.contains(first) {
            return Some((module, first.clone()));
        }
        for import in here.imports.iter().filter(|i| i.name.as_ref() == Some(first)) {
            let whole: Names = import.path.iter().chain(rest).cloned().collect();
            if let Some(found) = self.resolve(module, &whole) {
                return Some(found);
            }
        }
        for import in here.imports.iter().filter(|i| i.name.is_none()) {
            let whole: Names = import.path.iter().chain(path).cloned().collect();
            if let Some(found) = self.resolve(module, &whole) {
                return Some(found);
            }
        }
        None
    }
}
