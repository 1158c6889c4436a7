//! Calls of functions, and windows.

use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, NamedWindowExpr, WindowFrameBound, WindowFrameUnits, WindowType,
};

use super::{Conversion, unsupported};
use crate::{
    expression::{
        Expr, ExprKind, Frame, FrameBound, FrameUnits, FunctionCall, NamedWindow, Over, Refused,
        Window,
    },
    name::DottedName,
};

impl Conversion {
    /// Converts a call, or what looks like one.
    pub(super) fn function(&mut self, function: ast::Function) -> ExprKind {
        let name = self.dotted_name(function.name);
        let mut call = FunctionCall::new(name);
        match function.args {
            FunctionArguments::None => {}
            FunctionArguments::Subquery(query)
                if is_word(&call.name, "array")
                    && function.over.is_none()
                    && function.filter.is_none() =>
            {
                return ExprKind::ArrayQuery(Box::new(self.query(*query)));
            }
            FunctionArguments::Subquery(_) => {
                call.refused = Some(unsupported("a subquery as the arguments of a function"));
            }
            FunctionArguments::List(list) => {
                call.distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
                self.arguments(&mut call, list.args);
                for clause in list.clauses {
                    match clause {
                        FunctionArgumentClause::OrderBy(order) => {
                            call.order = self.order_keys(order)
                        }
                        FunctionArgumentClause::Limit(_) => {
                            call.refuse(unsupported("LIMIT in a call"));
                        }
                        FunctionArgumentClause::OnOverflow(_) => {
                            call.refuse(unsupported("ON OVERFLOW in a call"));
                        }
                        FunctionArgumentClause::IgnoreOrRespectNulls(nulls) => {
                            call.refuse(unsupported(nulls));
                        }
                        _ => call.refuse(unsupported("this clause in a call")),
                    }
                }
            }
        }
        if let Some(nulls) = function.null_treatment {
            call.refuse(unsupported(nulls));
        }
        call.within_group = self.order_keys(function.within_group);
        call.filter = function.filter.map(|filter| self.expr(*filter));
        call.over = function.over.map(|over| match over {
            WindowType::NamedWindow(name) => Over::Named(self.name(name)),
            WindowType::WindowSpec(window) => Over::Specified(self.window(window)),
        });
        match is_word(&call.name, "row") && call.is_plain() {
            true => ExprKind::Row {
                items: call.arguments,
                is_explicit: true,
            },
            false => ExprKind::Call(Box::new(call)),
        }
    }

    /// Converts a function of FROM.
    pub(super) fn table_function(
        &mut self,
        name: DottedName,
        arguments: Vec<FunctionArg>,
    ) -> FunctionCall {
        let mut call = FunctionCall::new(name);
        self.arguments(&mut call, arguments);
        call
    }

    fn arguments(&mut self, call: &mut FunctionCall, arguments: Vec<FunctionArg>) {
        call.arguments.reserve(arguments.len());
        for argument in arguments {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => {
                    let value = self.expr(value);
                    call.arguments.push(value);
                }
                FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => {
                    let outer = std::mem::take(&mut self.span);
                    let kind = ExprKind::RelationStar(self.dotted_name(name));
                    let span = self.span;
                    self.see(outer);
                    call.arguments.push(Expr { kind, span });
                }
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => call.star = true,
                FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                    call.refuse(unsupported("a named argument"));
                }
                FunctionArg::Unnamed(_) => call.refuse(unsupported("this argument")),
            }
        }
    }

    fn window(&mut self, window: ast::WindowSpec) -> Window {
        Window {
            base: window.window_name.map(|name| self.name(name)),
            partition: self.exprs(window.partition_by),
            order: self.order_keys(window.order_by),
            frame: window.window_frame.map(|frame| self.frame(frame)),
        }
    }

    /// Converts a window of the WINDOW clause.
    pub(super) fn named_window(&mut self, window: ast::NamedWindowDefinition) -> NamedWindow {
        let ast::NamedWindowDefinition(name, window) = window;
        NamedWindow {
            name: self.name(name),
            window: match window {
                NamedWindowExpr::WindowSpec(window) => self.window(window),
                NamedWindowExpr::NamedWindow(base) => Window {
                    base: Some(self.name(base)),
                    ..Window::default()
                },
            },
        }
    }

    fn frame(&mut self, frame: ast::WindowFrame) -> Frame {
        Frame {
            units: match frame.units {
                WindowFrameUnits::Rows => FrameUnits::Rows,
                WindowFrameUnits::Range => FrameUnits::Range,
                WindowFrameUnits::Groups => FrameUnits::Groups,
            },
            start: self.frame_bound(frame.start_bound),
            end: frame.end_bound.map(|end| self.frame_bound(end)),
        }
    }

    fn frame_bound(&mut self, bound: WindowFrameBound) -> FrameBound {
        match bound {
            WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
            WindowFrameBound::Preceding(distance) => {
                FrameBound::Preceding(self.optional_boxed(distance))
            }
            WindowFrameBound::Following(distance) => {
                FrameBound::Following(self.optional_boxed(distance))
            }
        }
    }
}

impl FunctionCall {
    fn new(name: DottedName) -> Self {
        Self {
            name,
            arguments: Vec::new(),
            star: false,
            distinct: false,
            order: Vec::new(),
            within_group: Vec::new(),
            filter: None,
            over: None,
            refused: None,
        }
    }

    /// Notes the first error.
    fn refuse(&mut self, refused: Refused) {
        self.refused.get_or_insert(refused);
    }

    /// Returns whether the call has arguments and nothing else.
    fn is_plain(&self) -> bool {
        !self.star
            && !self.distinct
            && self.order.is_empty()
            && self.within_group.is_empty()
            && self.filter.is_none()
            && self.over.is_none()
            && self.refused.is_none()
    }
}

/// Returns whether the name of a call is a word of the grammar.
fn is_word(name: &DottedName, word: &str) -> bool {
    match name.parts() {
        [name] => name.as_str() == word,
        [schema, name] => schema.as_str() == "pg_catalog" && name.as_str() == word,
        _ => false,
    }
}
