//! Forms of SQL that the parser does not know, written with tokens that it does.
//!
//! | form | becomes |
//! | --- | --- |
//! | `TABLE t` for a query | `SELECT * FROM t` |
//! | `FROM ONLY t`, `ONLY (t)` | `FROM t`: no table has heirs |
//! | `x ISNULL` | `x IS NULL` |
//! | `ORDER BY x USING <`, `>` | `ORDER BY x ASC`, `DESC` |
//! | `integer ARRAY`, `integer ARRAY[4]` | `integer[]` |
//! | `FETCH FIRST n ROWS ONLY`, `FETCH FIRST ROW ONLY` | `LIMIT n`, `LIMIT 1` |
//! | `FETCH FIRST n ROWS WITH TIES OFFSET m` | `LIMIT n OFFSET m FETCH FIRST ROWS WITH TIES` |
//! | `TRIM(LEADING FROM x)`, `TRIM(FROM x)` | `TRIM(LEADING ' ' FROM x)`, `TRIM(x)` |
//! | `TRIM(LEADING FROM x, y)` | `pg_catalog.ltrim(x, y)` |
//! | `FOR UPDATE OF a, b NOWAIT` | a clause for each of `a`, `b` |
//! | `CREATE UNLOGGED TABLE` | `CREATE TABLE`: it is kept all the same |
//! | `x NOT LIKE ALL (y)`, `ILIKE`, `ANY`, `SOME` | `x !~~ ALL (y)` |
//! | `CREATE TABLE t (..) WITH (a, b = 1)` | `CREATE TABLE t (..) WITH (a = TRUE, b = 1)` |
//! | `CREATE RECURSIVE VIEW v (a) AS q` | `CREATE VIEW v (a) AS WITH RECURSIVE v (a) AS (q) SELECT a FROM v` |
//!
//! Locations stay those of the text; tokens that are put in have that of the one before them. The
//! words that begin these forms are reserved in PostgreSQL, so that none is a name.

mod fetch;
mod parameters;
mod pattern;

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Span, Token, TokenWithSpan, Word},
};

use crate::{
    phase,
    words::{is_keyword, is_word, keyword, keyword_at},
};

/// Tokens that are looked at for the end of brackets: names of a view's columns, or a number of rows.
const BRACKETS_MAX: usize = 4096;

/// Types of PostgreSQL's, by the last words of their names.
const TYPES: &str = "bigint bool boolean bpchar bytea char character date decimal float float4 float8 int int2 \
    int4 int8 integer interval json jsonb name numeric oid precision real smallint text time timestamp \
    timestamptz timetz uuid varchar varying zone";

/// Whether a form may begin here.
pub(super) fn is_form(token: &Token) -> bool {
    let Token::Word(word) = token else {
        return false;
    };
    is_null_test(token)
        || word.quote_style.is_none()
            && matches!(
                word.keyword,
                Keyword::TABLE
                    | Keyword::ONLY
                    | Keyword::USING
                    | Keyword::ARRAY
                    | Keyword::FETCH
                    | Keyword::TRIM
                    | Keyword::OF
                    | Keyword::UNLOGGED
                    | Keyword::RECURSIVE
                    | Keyword::LIKE
                    | Keyword::ILIKE
                    | Keyword::WITH
            )
}

/// `ISNULL`, which is no keyword of the parser's.
fn is_null_test(token: &Token) -> bool {
    is_word(token, "isnull")
}

/// Writes all forms of a statement with tokens that the parser knows.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    // Nothing is copied before there is a form.
    let mut out: Option<Vec<TokenWithSpan>> = None;
    let mut given = Given {
        tokens,
        has_query: false,
    };
    let mut closing = Vec::new();
    let mut at = 0;
    while at < given.tokens.len() {
        phase::pause();
        let before = out.as_deref().unwrap_or(&given.tokens[..at]);
        let form = match is_form(&given.tokens[at].token) {
            true => given.form(at, before),
            false => None,
        };
        let written = match &form {
            Some(form) => &form.tokens[..],
            None => &given.tokens[at..=at],
        };
        let is_query = |token: &TokenWithSpan| keyword(token) == Keyword::SELECT;
        given.has_query |= written.iter().any(is_query);
        match form {
            Some(form) => {
                let out = out.get_or_insert_with(|| given.tokens[..at].to_vec());
                out.truncate(out.len() - form.before);
                out.extend(form.tokens);
                closing.extend(form.closing);
                at += form.taken;
            }
            None => {
                out.iter_mut()
                    .for_each(|out| out.push(given.tokens[at].clone()));
                at += 1;
            }
        }
    }
    if let Some(mut out) = out {
        out.extend(closing);
        *tokens = out;
    }
}

/// The text that takes the place of some tokens.
struct Form {
    tokens: Vec<TokenWithSpan>,
    /// How many tokens it takes the place of, from where it begins.
    taken: usize,
    /// And how many of those before.
    before: usize,
    /// The text that is added at the end of the statement.
    closing: Vec<TokenWithSpan>,
}

impl Form {
    fn new(tokens: Vec<TokenWithSpan>, taken: usize) -> Option<Self> {
        Some(Self {
            tokens,
            taken,
            before: 0,
            closing: Vec::new(),
        })
    }
}

/// The tokens as they were written.
struct Given<'t> {
    tokens: &'t [TokenWithSpan],
    /// There was a SELECT before.
    has_query: bool,
}

impl Given<'_> {
    fn keyword(&self, at: usize) -> Keyword {
        keyword_at(self.tokens, at)
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).map(|token| &token.token)
    }

    fn is_name(&self, at: usize) -> bool {
        matches!(self.token(at), Some(Token::Word(_)))
    }

    /// The form that begins here, behind these tokens.
    fn form(&self, at: usize, before: &[TokenWithSpan]) -> Option<Form> {
        let span = self.tokens[at].span;
        let last = before.last().map(keyword);
        if is_null_test(&self.tokens[at].token) {
            if !ends_operand(before) || self.token(at + 1) == Some(&Token::LParen) {
                return None;
            }
            let null = word("NULL", Keyword::NULL, span);
            return Form::new(vec![word("IS", Keyword::IS, span), null], 1);
        }
        // `AS only` and `t.only` are names.
        let is_definition = || keyword_at(before, 0) == Keyword::CREATE;
        let is_label = last == Some(Keyword::AS) && (self.has_query || !is_definition());
        if is_label || before.last().map(|token| &token.token) == Some(&Token::Period) {
            return None;
        }
        match self.keyword(at) {
            Keyword::TABLE if self.is_name(at + 1) && begins_query(before) => {
                let all = [
                    word("SELECT", Keyword::SELECT, span),
                    TokenWithSpan::new(Token::Mul, span),
                    word("FROM", Keyword::FROM, span),
                ];
                Form::new(all.into(), 1)
            }
            Keyword::ONLY
                if !matches!(last, Some(Keyword::ROW | Keyword::ROWS | Keyword::READ)) =>
            {
                self.only(at)
            }
            Keyword::USING => {
                let (name, keyword) = match self.token(at + 1)? {
                    Token::Lt => ("ASC", Keyword::ASC),
                    Token::Gt => ("DESC", Keyword::DESC),
                    _ => return None,
                };
                Form::new(vec![word(name, keyword, span)], 2)
            }
            Keyword::ARRAY => self.array(at, before),
            Keyword::FETCH => self.fetch(at, before),
            Keyword::TRIM => self.trim(at),
            Keyword::OF => self.locked(at, before),
            Keyword::UNLOGGED if before.len() == 1 && last == Some(Keyword::CREATE) => {
                Form::new(Vec::new(), 1)
            }
            Keyword::RECURSIVE if is_definition() && self.keyword(at + 1) == Keyword::VIEW => {
                self.recursive_view(at)
            }
            Keyword::LIKE | Keyword::ILIKE => self.quantified_pattern(at, before),
            Keyword::WITH if is_definition() => self.parameters(at, before),
            _ => None,
        }
    }

    /// `ONLY name` and `ONLY (name)`.
    fn only(&self, at: usize) -> Option<Form> {
        if self.is_name(at + 1) {
            // The word alone goes.
            return Form::new(Vec::new(), 1);
        }
        let name = self.brackets(at + 1)?;
        let is_part = |token: &TokenWithSpan| matches!(token.token, Token::Word(_) | Token::Period);
        match !name.is_empty() && name.iter().all(is_part) {
            true => Form::new(name.to_vec(), name.len() + 3),
            false => None,
        }
    }

    /// Returns the tokens in the parentheses that begin here, if they are no more than such forms have.
    fn brackets(&self, begin: usize) -> Option<&[TokenWithSpan]> {
        if self.token(begin) != Some(&Token::LParen) {
            return None;
        }
        let mut depth = 0_usize;
        for (at, token) in self
            .tokens
            .iter()
            .enumerate()
            .skip(begin)
            .take(BRACKETS_MAX)
        {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 1 => return Some(&self.tokens[begin + 1..at]),
                Token::RParen => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn trim(&self, at: usize) -> Option<Form> {
        if self.token(at + 1) != Some(&Token::LParen) {
            return None;
        }
        let function = match self.keyword(at + 2) {
            Keyword::LEADING => Some("ltrim"),
            Keyword::TRAILING => Some("rtrim"),
            Keyword::BOTH => Some("btrim"),
            _ => None,
        };
        let from = at + 2 + usize::from(function.is_some());
        if self.keyword(from) != Keyword::FROM {
            return None;
        }
        let span = self.tokens[from].span;
        if self.has_comma(at + 1) {
            let begin = self.tokens[at].span;
            let call = [
                word("pg_catalog", Keyword::NoKeyword, begin),
                TokenWithSpan::new(Token::Period, begin),
                word(function.unwrap_or("btrim"), Keyword::NoKeyword, begin),
                self.tokens[at + 1].clone(),
            ];
            return Form::new(call.into(), from + 1 - at);
        }
        let mut trim = self.tokens[at..from].to_vec();
        if function.is_some() {
            let blank = Token::SingleQuotedString(" ".to_owned());
            trim.push(TokenWithSpan::new(blank, span));
            trim.push(self.tokens[from].clone());
        }
        Form::new(trim, from + 1 - at)
    }

    /// Whether the parentheses that begin here have a list of several items.
    fn has_comma(&self, begin: usize) -> bool {
        let mut depth = 0_usize;
        self.brackets(begin).into_iter().flatten().any(|token| {
            match token.token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.token == Token::Comma
        })
    }

    /// `ARRAY` and `ARRAY[4]` behind a type.
    fn array(&self, at: usize, before: &[TokenWithSpan]) -> Option<Form> {
        let taken = match (self.token(at + 1), self.token(at + 2), self.token(at + 3)) {
            (Some(Token::LBracket), Some(Token::Number(size, _)), Some(Token::RBracket))
                if ends_type(before)
                    && size.parse::<i32>().is_ok()
                    && self.token(at + 4) != Some(&Token::LBracket) =>
            {
                4
            }
            (Some(Token::LBracket | Token::LParen | Token::Period), ..) => return None,
            _ if ends_operand(before) => 1,
            _ => return None,
        };
        let brackets = [Token::LBracket, Token::RBracket];
        let brackets = brackets.map(|token| TokenWithSpan::new(token, self.tokens[at].span));
        Form::new(brackets.into(), taken)
    }

    /// `FOR UPDATE OF a, b NOWAIT`, from OF on.
    fn locked(&self, at: usize, before: &[TokenWithSpan]) -> Option<Form> {
        let strengths: [&[Keyword]; 4] = [
            &[Keyword::FOR, Keyword::UPDATE],
            &[Keyword::FOR, Keyword::SHARE],
            &[Keyword::FOR, Keyword::NO, Keyword::KEY, Keyword::UPDATE],
            &[Keyword::FOR, Keyword::KEY, Keyword::SHARE],
        ];
        let written = |words: &&[Keyword]| {
            let begin = before.len().checked_sub(words.len())?;
            let head = &before[begin..];
            let is_written = head.iter().map(keyword).eq(words.iter().copied());
            is_written.then_some(head)
        };
        let head = strengths.iter().find_map(written)?;
        let mut names: Vec<&[TokenWithSpan]> = Vec::new();
        let mut next = at + 1;
        loop {
            let begin = next;
            while self.is_name(next) && self.token(next + 1) == Some(&Token::Period) {
                next += 2;
            }
            if !self.is_name(next) {
                return None;
            }
            next += 1;
            names.push(&self.tokens[begin..next]);
            if self.token(next) != Some(&Token::Comma) {
                break;
            }
            next += 1;
        }
        if names.len() == 1 {
            return None;
        }
        let end = match (self.keyword(next), self.keyword(next + 1)) {
            (Keyword::NOWAIT, _) => next + 1,
            (Keyword::SKIP, Keyword::LOCKED) => next + 2,
            _ => next,
        };
        let clause = |name: &[TokenWithSpan]| {
            let of = std::slice::from_ref(&self.tokens[at]);
            [head, of, name, &self.tokens[next..end]].concat()
        };
        Some(Form {
            tokens: names.into_iter().flat_map(clause).collect(),
            taken: end - at,
            before: head.len(),
            closing: Vec::new(),
        })
    }

    fn recursive_view(&self, at: usize) -> Option<Form> {
        let mut name = at + 2;
        while self.token(name + 1) == Some(&Token::Period) {
            name += 2;
        }
        let columns = self.brackets(name + 1)?;
        let end = name + 1 + columns.len() + 2;
        let is_checked = ends_with_check(self.tokens);
        if !self.is_name(name) || self.keyword(end) != Keyword::AS || is_checked {
            return None;
        }
        if !are_closed(&self.tokens[end + 1..]) {
            // The parser tells where, if it sees the query as it is.
            return Form::new(Vec::new(), 1);
        }
        let span = self.tokens[at].span;
        let symbol = |token| TokenWithSpan::new(token, span);
        let mut view = self.tokens[at + 1..=end].to_vec();
        view.push(word("WITH", Keyword::WITH, span));
        view.push(self.tokens[at].clone());
        view.extend_from_slice(&self.tokens[name..=end]);
        view.push(symbol(Token::LParen));
        let mut closing = vec![symbol(Token::RParen)];
        closing.push(word("SELECT", Keyword::SELECT, span));
        closing.extend_from_slice(columns);
        closing.push(word("FROM", Keyword::FROM, span));
        closing.push(self.tokens[name].clone());
        Some(Form {
            tokens: view,
            taken: end + 1 - at,
            before: 0,
            closing,
        })
    }
}

/// Whether each parenthesis among these tokens has its other one there.
fn are_closed(tokens: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    for token in tokens {
        phase::pause();
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

fn word(text: &str, keyword: Keyword, span: Span) -> TokenWithSpan {
    let word = Word {
        value: text.to_owned(),
        quote_style: None,
        keyword,
    };
    TokenWithSpan::new(Token::Word(word), span)
}

/// Whether a query may begin behind these tokens.
fn begins_query(before: &[TokenWithSpan]) -> bool {
    let Some(last) = before.last() else {
        return true;
    };
    if ends_insert_target(before) {
        return true;
    }
    let set = [Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT];
    match keyword(last) {
        Keyword::ALL | Keyword::DISTINCT => {
            let operator = before.iter().rev().nth(1);
            operator.is_some_and(|operator| is_keyword(operator, &set))
        }
        Keyword::AS | Keyword::EXPLAIN | Keyword::ANALYZE | Keyword::VERBOSE => true,
        word => set.contains(&word) || matches!(last.token, Token::LParen | Token::RParen),
    }
}

/// Whether these tokens end with `INSERT INTO name`, with an alias or not, or with `OVERRIDING USER VALUE`.
pub(super) fn ends_insert_target(before: &[TokenWithSpan]) -> bool {
    if let [.., overriding, _, value] = before
        && is_word(&overriding.token, "overriding")
        && keyword(value) == Keyword::VALUE
    {
        return true;
    }
    let is_name = |token: &TokenWithSpan| matches!(token.token, Token::Word(_));
    let mut rest = match before {
        [head @ .., label, alias] if keyword(label) == Keyword::AS && is_name(alias) => head,
        _ => before,
    };
    while let [head @ .., before_name, name] = rest
        && is_name(name)
    {
        if before_name.token == Token::Period {
            rest = head;
            continue;
        }
        let insert = head.last().map(keyword);
        return (insert, keyword(before_name)) == (Some(Keyword::INSERT), Keyword::INTO);
    }
    false
}

/// Whether a statement ends with `CHECK OPTION`.
pub(super) fn ends_with_check(tokens: &[TokenWithSpan]) -> bool {
    let [.., check, option] = tokens else {
        return false;
    };
    (keyword(check), keyword(option)) == (Keyword::CHECK, Keyword::OPTION)
}

/// Whether these tokens end with a type, and not with what an array may follow: with what a cast names,
/// the parentheses of a type, or the name of a type that PostgreSQL has or that may be anybody's.
fn ends_type(before: &[TokenWithSpan]) -> bool {
    let Some((last, head)) = without_modifiers(before).and_then(<[_]>::split_last) else {
        return false;
    };
    let Token::Word(name) = &last.token else {
        return false;
    };
    let before = head.last().map(|token| &token.token);
    let is_type = matches!(before, Some(Token::DoubleColon | Token::Period));
    let mut names = TYPES.split_ascii_whitespace();
    // An array follows no other name than that of a type: words that it may follow are keywords.
    let is_name = name.keyword == Keyword::NoKeyword || name.quote_style.is_some();
    is_type || is_name || names.any(|known| name.value.eq_ignore_ascii_case(known))
}

/// These tokens without the numbers in parentheses at their end, if they end with parentheses; `None` if these
/// have something else in them.
fn without_modifiers(before: &[TokenWithSpan]) -> Option<&[TokenWithSpan]> {
    let [head @ .., last] = before else {
        return None;
    };
    if last.token != Token::RParen {
        return Some(before);
    }
    let mut rest = head;
    loop {
        let [head @ .., between, number] = rest else {
            return None;
        };
        match (&between.token, &number.token) {
            (Token::LParen, Token::Number(..)) => return Some(head),
            (Token::Comma, Token::Number(..)) => rest = head,
            _ => return None,
        }
    }
}

/// Whether these tokens may end with an operand, or with a type.
fn ends_operand(before: &[TokenWithSpan]) -> bool {
    match before.last().map(|token| &token.token) {
        Some(Token::Word(word)) => word.keyword != Keyword::AS || word.quote_style.is_some(),
        Some(
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::Placeholder(_)
            | Token::RParen
            | Token::RBracket,
        ) => true,
        _ => false,
    }
}
