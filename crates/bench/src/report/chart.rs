//! A bar chart as SVG: operations per second of each mode, with the range over
//! the repeats.

use plotters::prelude::*;

use crate::measure::Summary;
use commands::{Error, Result};

pub(super) const SIZE: (u32, u32) = (900, 480);
/// Half of a bar's width, where 1 is the distance of two bars.
const HALF_BAR: f64 = 0.32;
/// Half the width of the ticks at the ends of an error bar.
const HALF_TICK: f64 = 0.06;
const BAR: RGBColor = RGBColor(70, 110, 160);
/// Colour of the mode that the others are compared with.
pub(super) const BASE: RGBColor = RGBColor(150, 150, 150);

/// Draws the chart, `title` above it.
///
/// # Errors
/// [`Error::Run`] when there is nothing to draw.
pub fn chart(title: &str, summaries: &[Summary]) -> Result<String> {
    if summaries.is_empty() {
        return Err(Error::run("there are no results to draw"));
    }
    let mut svg = String::new();
    draw(title, summaries, &mut svg)
        .map_err(|error| Error::run(format!("cannot draw the chart: {error}")))?;
    Ok(svg)
}

fn draw(
    title: &str,
    summaries: &[Summary],
    svg: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let million = |operations: f64| operations / 1e6;
    let top = summaries
        .iter()
        .map(|summary| million(summary.operations_per_second_spread.max))
        .fold(f64::MIN_POSITIVE, f64::max);
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let bars = summaries.len() as f64;
    let mut chart = ChartBuilder::on(&root)
        .caption(shortened(title), ("sans-serif", 15))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(-0.5..bars - 0.5, 0.0..top * 1.12)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(WHITE)
        .y_desc("million operations per second")
        .label_style(("sans-serif", 13))
        .draw()?;
    let centred = |size: u32, vertical| {
        let position = plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Center,
            vertical,
        );
        ("sans-serif", size).into_text_style(&root).pos(position)
    };
    use plotters::style::text_anchor::VPos;
    for (position, summary) in summaries.iter().enumerate() {
        let x = position as f64;
        let spread = summary.operations_per_second_spread;
        let (low, high) = (million(spread.min), million(spread.max));
        let colour = if summary.median.mode == crate::mode::Mode::Sequential {
            BASE
        } else {
            BAR
        };
        chart.draw_series([Rectangle::new(
            [(x - HALF_BAR, 0.0), (x + HALF_BAR, million(spread.median))],
            colour.filled(),
        )])?;
        let line = |from, to| PathElement::new(vec![from, to], BLACK.stroke_width(1));
        chart.draw_series([
            line((x, low), (x, high)),
            line((x - HALF_TICK, low), (x + HALF_TICK, low)),
            line((x - HALF_TICK, high), (x + HALF_TICK, high)),
        ])?;
        chart.draw_series([Text::new(
            label(summary),
            (x, high + top * 0.015),
            centred(13, VPos::Bottom),
        )])?;
        // The axis would put numbers here; modes have names.
        let (pixel_x, pixel_y) = chart.backend_coord(&(x, 0.0));
        root.draw(&Text::new(
            summary.median.mode.name(),
            (pixel_x, pixel_y + 10),
            centred(13, VPos::Top),
        ))?;
    }
    root.present()?;
    Ok(())
}

fn label(summary: &Summary) -> String {
    let million = summary.operations_per_second_spread.median / 1e6;
    match summary.times_sequential {
        Some(ratio) => format!("{million:.2} ({:.2}x)", ratio.median),
        None => format!("{million:.2}"),
    }
}

/// Returns the title cut to the width.
pub(super) fn shortened(title: &str) -> String {
    const CHARACTERS: usize = 140;
    if title.chars().count() <= CHARACTERS {
        return title.to_owned();
    }
    title.chars().take(CHARACTERS - 1).chain(['…']).collect()
}
