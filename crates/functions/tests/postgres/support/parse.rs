//! The form of the cases: a small part of SQL's expressions, without precedence.

/// An expression.
#[derive(Debug)]
pub(crate) enum Expression {
    /// `'text'`, or NULL.
    Literal(Option<String>),
    Cast(Box<Expression>, String),
    Call(String, Vec<Expression>),
    Prefix(String, Box<Expression>),
    Binary(String, Box<Expression>, Box<Expression>),
}

pub(crate) struct Parser<'t> {
    rest: &'t str,
}

const SYMBOLS: &str = "+-*/<>=~!@#%^&|?";

impl<'t> Parser<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn accept(&mut self, token: &str) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn while_in(&mut self, accepts: impl Fn(char) -> bool) -> &'t str {
        let end = self
            .rest
            .find(|character| !accepts(character))
            .unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn symbol(&mut self) -> &'t str {
        self.skip_blanks();
        self.while_in(|character| SYMBOLS.contains(character))
    }

    /// Parses the rest, separated by commas.
    pub(crate) fn list(&mut self) -> Vec<Expression> {
        let mut list = Vec::new();
        self.skip_blanks();
        if self.rest.is_empty() || self.rest.starts_with(')') {
            return list;
        }
        loop {
            list.push(self.expression());
            if !self.accept(",") {
                return list;
            }
        }
    }

    pub(crate) fn expression(&mut self) -> Expression {
        let left = self.operand();
        match self.symbol() {
            "" => left,
            symbol => {
                let right = self.operand();
                Expression::Binary(symbol.to_owned(), Box::new(left), Box::new(right))
            }
        }
    }

    fn operand(&mut self) -> Expression {
        self.skip_blanks();
        let prefix = self.symbol();
        if !prefix.is_empty() {
            return Expression::Prefix(prefix.to_owned(), Box::new(self.operand()));
        }
        let mut operand = self.primary();
        while self.accept("::") {
            let name = if let Some(rest) = self.rest.strip_prefix('"') {
                let end = rest.find('"').expect("the end of a name") + 2;
                let (name, rest) = self.rest.split_at(end);
                self.rest = rest;
                name
            } else {
                self.while_in(|character| {
                    character.is_ascii_alphanumeric() || "_[]".contains(character)
                })
            };
            operand = Expression::Cast(Box::new(operand), name.to_owned());
        }
        operand
    }

    fn primary(&mut self) -> Expression {
        if self.accept("(") {
            let inner = self.expression();
            assert!(self.accept(")"), "a parenthesis at {}", self.rest);
            return inner;
        }
        if self.rest.starts_with("E'") {
            self.rest = &self.rest[1..];
            return Expression::Literal(Some(self.quoted(true)));
        }
        if self.rest.starts_with('\'') {
            return Expression::Literal(Some(self.quoted(false)));
        }
        let name = self.while_in(|character| character.is_ascii_alphanumeric() || character == '_');
        if name.eq_ignore_ascii_case("null") {
            return Expression::Literal(None);
        }
        if name.eq_ignore_ascii_case("true") || name.eq_ignore_ascii_case("false") {
            let literal = Expression::Literal(Some(name.to_owned()));
            return Expression::Cast(Box::new(literal), "bool".to_owned());
        }
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            let literal = Expression::Literal(Some(name.to_owned()));
            return Expression::Cast(Box::new(literal), "int4".to_owned());
        }
        assert!(
            self.accept("("),
            "a call at {name:?} before {:?}",
            self.rest
        );
        let arguments = self.list();
        assert!(self.accept(")"), "a parenthesis at {}", self.rest);
        Expression::Call(name.to_owned(), arguments)
    }

    fn quoted(&mut self, escapes: bool) -> String {
        let mut text = String::new();
        let mut characters = self.rest[1..].chars();
        loop {
            match characters.next().expect("the end of a literal") {
                '\'' if characters.as_str().starts_with('\'') => {
                    characters.next();
                    text.push('\'');
                }
                '\'' => break,
                '\\' if escapes => match characters.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => {}
                },
                other => text.push(other),
            }
        }
        self.rest = characters.as_str();
        text
    }
}
