//! The files of a crate and what each of them declares.

use proc_macro2::TokenStream;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, ItemUse, UseTree};

/// A path of names, such as `crate::memory::Purpose`.
pub type Names = Vec<String>;

/// What a `use` brings into a module.
#[derive(Debug, Clone)]
pub struct Import {
    /// The name in this module; `None` is a glob.
    pub name: Option<String>,
    /// What is imported.
    pub path: Names,
    /// Whether others can import it from here.
    pub reexport: bool,
}

/// One module of a crate.
#[derive(Debug)]
pub struct Module {
    /// Its place in the module tree; the crate's root is the empty path.
    pub path: Names,
    /// The file that holds it. Modules inside a file have the file of the module around them.
    pub file: PathBuf,
    /// Names of items that it defines.
    pub items: Vec<String>,
    /// Modules below it.
    pub children: HashMap<String, usize>,
    /// What it imports.
    pub imports: Vec<Import>,
    /// Its text without `use`, modules and tests.
    pub tokens: Vec<TokenStream>,
}

/// The modules of a crate; the first is its root.
#[derive(Debug, Default)]
pub struct Tree {
    /// The modules.
    pub modules: Vec<Module>,
}

impl Tree {
    /// Reads a crate.
    ///
    /// # Panics
    /// When a file is missing or is no Rust.
    #[must_use]
    pub fn read(root: &Path) -> Tree {
        let mut tree = Tree::default();
        let folder = root.parent().expect("a file lies in a folder").to_path_buf();
        tree.read_file(root, &[], &folder);
        tree
    }

    fn read_file(&mut self, file: &Path, path: &[String], folder: &Path) -> usize {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.module(file, path, folder, parsed.items)
    }

    /// Adds a module; `folder` is where files of its children lie.
    fn module(&mut self, file: &Path, path: &[String], folder: &Path, items: Vec<Item>) -> usize {
        let id = self.modules.len();
        self.modules.push(Module {
            path: path.to_vec(),
            file: file.to_path_buf(),
            items: Vec::new(),
            children: HashMap::new(),
            imports: Vec::new(),
            tokens: Vec::new(),
        });
        for item in items {
            if attributes(&item).iter().any(is_test) {
                continue;
            }
            match item {
                Item::Use(item) => add_imports(&item, &mut self.modules[id].imports),
                Item::Mod(item) => {
                    let name = item.ident.to_string();
                    let mut below = path.to_vec();
                    below.push(name.clone());
                    let inside = folder.join(&name);
                    let child = match item.content {
                        Some((_, items)) => self.module(file, &below, &inside, items),
                        None => match child_file(&item.attrs, file, folder, &name) {
                            Some(file) => self.read_file(&file, &below, &inside),
                            None => continue,
                        },
                    };
                    self.modules[id].children.insert(name, child);
                }
                item => {
                    let module = &mut self.modules[id];
                    module.items.extend(name_of(&item));
                    module.tokens.push(tokens(&item));
                }
            }
        }
        id
    }
}

fn tokens(item: &Item) -> TokenStream {
    use syn::__private::ToTokens;
    item.to_token_stream()
}

/// The file of `mod name;`, also with `#[path = "..."]`. Files that a build script makes are not read.
fn child_file(attributes: &[Attribute], file: &Path, folder: &Path, name: &str) -> Option<PathBuf> {
    for attribute in attributes {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("path")
            && let syn::Expr::Lit(literal) = &pair.value
            && let syn::Lit::Str(path) = &literal.lit
        {
            return Some(file.parent()?.join(path.value()));
        }
    }
    let beside = folder.join(format!("{name}.rs"));
    let inside = folder.join(name).join("mod.rs");
    [beside, inside].into_iter().find(|f| f.exists())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::ForeignMod(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Union(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

fn is_test(attribute: &Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    list.path.is_ident("cfg")
        && list.tokens.to_string().split(|c: char| !c.is_alphanumeric()).any(|w| w == "test")
}

fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(i) => &i.ident,
        Item::Enum(i) => &i.ident,
        Item::Fn(i) => &i.sig.ident,
        Item::Macro(i) => i.ident.as_ref()?,
        Item::Static(i) => &i.ident,
        Item::Struct(i) => &i.ident,
        Item::Trait(i) => &i.ident,
        Item::Type(i) => &i.ident,
        Item::Union(i) => &i.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

fn add_imports(item: &ItemUse, into: &mut Vec<Import>) {
    if item.leading_colon.is_some() {
        return;
    }
    let reexport = !matches!(item.vis, syn::Visibility::Inherited);
    flatten(&item.tree, &mut Vec::new(), reexport, into);
}

fn flatten(tree: &UseTree, path: &mut Names, reexport: bool, into: &mut Vec<Import>) {
    match tree {
        UseTree::Path(p) => {
            path.push(p.ident.to_string());
            flatten(&p.tree, path, reexport, into);
            path.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, path, reexport, into);
            }
        }
        UseTree::Glob(_) => into.push(Import { name: None, path: path.to_vec(), reexport }),
        UseTree::Name(n) => add_name(&n.ident.to_string(), None, path, reexport, into),
        UseTree::Rename(r) => {
            add_name(&r.ident.to_string(), Some(r.rename.to_string()), path, reexport, into);
        }
    }
}

fn add_name(last: &str, renamed: Option<String>, path: &Names, reexport: bool, into: &mut Vec<Import>) {
    let mut path = path.clone();
    if last != "self" {
        path.push(last.to_owned());
    }
    let name = renamed.or_else(|| path.last().cloned());
    into.push(Import { name, path, reexport });
}
