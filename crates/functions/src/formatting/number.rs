//! `to_char` of numbers.

use formatting::NumberPattern;
use types::{Result, Value};

use crate::{
    Context,
    argument::take,
    cast::to_numeric,
    function::{FLOAT4, FLOAT8, Function, INT4, INT8, NUMERIC, Parameter, TEXT},
};

fn to_char<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text: &str = take(arguments, 1)?;
    if text.is_empty() {
        return Ok(Value::Text(""));
    }
    let pattern = NumberPattern::parse(text)?;
    let number = to_numeric(context, take(arguments, 0)?)?;
    let text = pattern.write(arguments[0], number, context.scratch)?;
    Ok(Value::Text(context.text(&text)))
}

const fn over(parameters: &'static [Parameter]) -> Function {
    Function::scalar("to_char", parameters, TEXT, to_char).stable()
}

pub(super) static FUNCTIONS: &[Function] = &[
    over(&[NUMERIC, TEXT]),
    over(&[INT4, TEXT]),
    over(&[INT8, TEXT]),
    over(&[FLOAT8, TEXT]),
    over(&[FLOAT4, TEXT]),
];
