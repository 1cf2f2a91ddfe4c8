//! Rust source as the layer test needs it: which modules and crates a file names. A lexer and paths; no
//! types, no macros expanded, so what a macro writes is seen where its text stands.

/// A path that a file names, resolved against the file's own module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    pub line: usize,
    pub root: Root,
    /// Module after module; the last may be an item, or `*`.
    pub segments: Vec<String>,
}

/// Where a path starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// This package.
    Ours,
    /// A name in scope, or a foreign crate: its first segment says which.
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
    while let Some((line, token)) = tokens.get(at) {
        match token {
            Token::Word(word) if word == "mod" => {
                if let (Some((_, Token::Word(name))), Some((_, Token::Mark('{')))) =
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
                found.extend(tree.into_iter().filter_map(|path| resolve(*line, path, &module)));
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

/// The words of `source` with their lines: no comments, no literals.
pub fn words(source: &str) -> Vec<(usize, String)> {
    let words = tokens(source).into_iter().filter_map(|(line, token)| match token {
        Token::Word(word) => Some((line, word)),
        Token::Sep | Token::Mark(_) => None,
    });
    words.collect()
}

fn resolve(line: usize, mut path: Vec<String>, module: &[String]) -> Option<Path> {
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
        _ if path.len() > 1 => return Some(Path { line, root: Root::Named, segments: path }),
        _ => return None,
    };
    // Alone, `crate` and `super` are visibilities and `self` is a receiver.
    (!alone).then_some(Path { line, root: Root::Ours, segments })
}

/// Reads one path, or a tree of them in braces; returns where it ends.
fn path_tree(
    tokens: &[(usize, Token)],
    mut at: usize,
    before: &[String],
    out: &mut Vec<Vec<String>>,
) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at).map(|(_, token)| token) {
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
                while let Some((_, token)) = tokens.get(at) {
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
            Some((_, Token::Sep)) => at += 1,
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

fn tokens(source: &str) -> Vec<(usize, Token)> {
    let mut lexer = Lexer { rest: source.chars().collect(), at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    tokens
}

struct Lexer {
    rest: Vec<char>,
    at: usize,
    line: usize,
}

impl Lexer {
    fn next(&mut self) -> Option<(usize, Token)> {
        loop {
            let c = self.peek(0)?;
            let line = self.line;
            match (c, self.peek(1)) {
                ('/', Some('/')) => self.skip_while(|c| c != '\n'),
                ('/', Some('*')) => self.skip_comment(),
                ('"', _) => self.skip_string(),
                ('\'', _) => self.skip_char_or_lifetime(),
                (':', Some(':')) => {
                    self.advance(2);
                    return Some((line, Token::Sep));
                }
                (c, _) if c.is_alphabetic() || c == '_' => {
                    let word = self.word();
                    if !self.skip_prefixed_literal(&word) {
                        return Some((line, Token::Word(word)));
                    }
                }
                (c, _) if c.is_ascii_digit() => {
                    self.skip_while(|c| c.is_alphanumeric() || c == '_');
                }
                (c, _) => {
                    self.advance(1);
                    if !c.is_whitespace() {
                        return Some((line, Token::Mark(c)));
                    }
                }
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn advance(&mut self, count: usize) {
        for _ in 0..count {
            if self.peek(0) == Some('\n') {
                self.line += 1;
            }
            self.at += 1;
        }
    }

    fn skip_while(&mut self, more: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&more) {
            self.advance(1);
        }
    }

    fn word(&mut self) -> String {
        let start = self.at;
        self.skip_while(|c| c.is_alphanumeric() || c == '_');
        self.rest[start..self.at].iter().collect()
    }

    fn skip_comment(&mut self) {
        let mut depth = 0;
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('*')) => {
                    depth += 1;
                    self.advance(2);
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    self.advance(2);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.advance(1),
            }
        }
    }

    fn skip_string(&mut self) {
        self.advance(1);
        while let Some(c) = self.peek(0) {
            self.advance(if c == '\\' { 2 } else { 1 });
            if c == '"' {
                return;
            }
        }
    }

    fn skip_char_or_lifetime(&mut self) {
        if self.peek(1) == Some('\\') {
            self.advance(3);
            self.skip_while(|c| c != '\'');
            self.advance(1);
        } else if self.peek(2) == Some('\'') {
            self.advance(3);
        } else {
            self.advance(1);
            self.skip_while(|c| c.is_alphanumeric() || c == '_');
        }
    }

    /// `b"…"`, `r#"…"#` and the like, whose prefix was just read; true if there was one.
    fn skip_prefixed_literal(&mut self, prefix: &str) -> bool {
        let raw = matches!(prefix, "r" | "br" | "cr");
        if !raw && !matches!(prefix, "b" | "c") {
            return false;
        }
        if !raw {
            match self.peek(0) {
                Some('"') => self.skip_string(),
                Some('\'') if prefix == "b" => self.skip_char_or_lifetime(),
                _ => return false,
            }
            return true;
        }
        let hashes = (0..).take_while(|&ahead| self.peek(ahead) == Some('#')).count();
        if self.peek(hashes) != Some('"') {
            return false;
        }
        self.advance(hashes + 1);
        while self.peek(0).is_some() {
            let closes = self.peek(0) == Some('"') && (1..=hashes).all(|n| self.peek(n) == Some('#'));
            self.advance(1);
            if closes {
                self.advance(hashes);
                break;
            }
        }
        true
    }
}
