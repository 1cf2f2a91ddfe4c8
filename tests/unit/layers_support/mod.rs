//! A reader of Rust source for the layer test: it finds the modules and crates that a file names. It knows no
//! types and expands no macros.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A path in a file, resolved from the file's own module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    pub root: Root,
    /// Modules in order; the last segment may be an item, or `*`.
    pub segments: Vec<String>,
}

/// Where a path starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// This package.
    Ours,
    /// A name in scope, or a foreign crate: the first segment decides.
    Named,
}

/// Every path of more than one segment in `source`, the text of the module `module` (`["provider", "wire"]` for
/// `src/provider/wire/mod.rs`).
pub fn paths(source: &str, module: &[&str]) -> Vec<Path> {
    let tokens = tokens(source);
    let mut module: Vec<String> = module.iter().map(|&name| name.to_owned()).collect();
    // For each open brace: does it close an inline module?
    let mut braces = Vec::new();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Word(word) if word == "mod" => {
                if let (Some(Token::Word(name)), Some(Token::Mark('{'))) =
                    (tokens.get(at + 1), tokens.get(at + 2))
                {
                    module.push(name.clone());
                    braces.push(true);
                    at += 3;
                } else {
                    at += 1;
                }
            }
            Token::Word(_) => {
                let mut tree = Vec::new();
                at = path_tree(&tokens, at, &[], &mut tree);
                found.extend(tree.into_iter().filter_map(|path| resolve(path, &module)));
            }
            Token::Mark('{') => {
                braces.push(false);
                at += 1;
            }
            Token::Mark('}') => {
                if braces.pop() == Some(true) {
                    module.pop();
                }
                at += 1;
            }
            // `.name::<T>()` and `<T>::name` start no path of modules.
            Token::Mark('.') | Token::Sep => at += 2,
            Token::Mark(_) => at += 1,
        }
    }
    found
}

fn resolve(mut path: Vec<String>, module: &[String]) -> Option<Path> {
    let head = path.first()?.clone();
    let alone = path.len() == 1;
    let segments = match head.as_str() {
        "crate" | "hostwatch" => path.split_off(1),
        "self" | "super" => {
            let ups = path.iter().take_while(|segment| *segment == "super").count();
            let skip = ups.max(1);
            let base = &module[..module.len().saturating_sub(ups)];
            base.iter().cloned().chain(path.into_iter().skip(skip).filter(|s| s != "self")).collect()
        }
        _ if path.len() > 1 => return Some(Path { root: Root::Named, segments: path }),
        _ => return None,
    };
    // As single words, `crate` and `super` are visibilities, and `self` is a receiver.
    (!alone).then_some(Path { root: Root::Ours, segments })
}

/// Reads one path, or a tree of them in braces; returns where it ends.
fn path_tree(tokens: &[Token], mut at: usize, before: &[String], out: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(Token::Word(word)) => {
                path.push(word.clone());
                at += 1;
            }
            Some(Token::Mark('*')) if !path.is_empty() => {
                path.push("*".to_owned());
                at += 1;
            }
            Some(Token::Mark('{')) if !path.is_empty() => {
                at += 1;
                while let Some(token) = tokens.get(at) {
                    at = match token {
                        Token::Mark('}') => return at + 1,
                        // `a as b`: the new name is no path.
                        Token::Word(word) if word == "as" => at + 2,
                        Token::Word(_) | Token::Mark('*') => path_tree(tokens, at, &path, out),
                        Token::Sep | Token::Mark(_) => at + 1,
                    };
                }
                return at;
            }
            _ => break,
        }
        match tokens.get(at) {
            Some(Token::Sep) => at += 1,
            _ => break,
        }
    }
    out.push(path);
    at
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    Word(String),
    /// `::`
    Sep,
    Mark(char),
}

fn tokens(source: &str) -> Vec<Token> {
    let mut all = Vec::new();
    flatten(source.parse().expect("Rust"), &mut all);
    all
}

fn flatten(stream: TokenStream, all: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(word) => all.push(Token::Word(word.to_string())),
            TokenTree::Punct(mark) if mark.as_char() == ':' && mark.spacing() == Spacing::Joint => {
                trees.next();
                all.push(Token::Sep);
            }
            TokenTree::Punct(mark) => all.push(Token::Mark(mark.as_char())),
            TokenTree::Literal(_) => {}
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Brace => ['{', '}'],
                    Delimiter::Parenthesis => ['(', ')'],
                    Delimiter::Bracket | Delimiter::None => ['[', ']'],
                };
                all.push(Token::Mark(open));
                flatten(group.stream(), all);
                all.push(Token::Mark(close));
            }
        }
    }
}
