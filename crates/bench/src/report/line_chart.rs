//! A line chart as SVG: a quantity of several series against one that was varied. The values of the
//! axis stand at equal distances, whatever lies between them, as in bar charts: sizes by powers of
//! ten and counts share one form.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::{BASE, SIZE, shortened};
use crate::measure::Spread;
use commands::{Error, Result};

/// Colours of the series after the first, used again in turn.
const COLOURS: [RGBColor; 7] = [
    RGBColor(200, 130, 40),
    RGBColor(140, 90, 160),
    RGBColor(190, 80, 80),
    RGBColor(40, 90, 170),
    RGBColor(70, 150, 90),
    RGBColor(90, 160, 190),
    RGBColor(60, 60, 60),
];
/// Room for the names of the series, on the right.
const LEGEND_WIDTH: i32 = 210;
const LEGEND_LINE: i32 = 22;
/// Half the width of the ticks at the ends of an error bar.
const HALF_TICK: f64 = 0.02;

/// A chart to draw.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// Title above the chart.
    pub title: String,
    /// Name of the quantity that was varied.
    pub x_title: String,
    /// Values of the axis, from left to right.
    pub x_labels: Vec<String>,
    /// Name of the quantity that was measured.
    pub y_title: String,
    /// The lines; the first is the one to compare with.
    pub lines: Vec<Line>,
}

/// A line of the chart: one series.
#[derive(Clone, Debug)]
pub struct Line {
    /// Name of the series.
    pub name: String,
    /// Values of the series, as many as the axis has; `None` where it was not measured.
    pub values: Vec<Option<Spread>>,
}

/// Draws the chart.
///
/// # Errors
/// [`Error::Run`] when there is nothing to draw.
pub fn line_chart(chart: &LineChart) -> Result<String> {
    if chart.x_labels.is_empty() || chart.lines.is_empty() {
        return Err(Error::run("there are no results to draw"));
    }
    let mut svg = String::new();
    draw(chart, &mut svg).map_err(|error| Error::run(format!("cannot draw the chart: {error}")))?;
    Ok(svg)
}

fn draw(what: &LineChart, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let values = what.lines.iter().flat_map(|line| &line.values).flatten();
    let top = values
        .map(|value| value.max)
        .fold(f64::MIN_POSITIVE, f64::max);
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let last = what.x_labels.len() as f64 - 1.0;
    let mut chart = ChartBuilder::on(&root)
        .caption(shortened(&what.title), ("sans-serif", 15))
        .margin(12)
        .margin_right(LEGEND_WIDTH)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(-0.2..last + 0.2, 0.0..top * 1.08)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(WHITE)
        .y_desc(&what.y_title)
        .label_style(("sans-serif", 13))
        .draw()?;
    let text = |size: u32, horizontal, vertical| {
        let position = Pos::new(horizontal, vertical);
        ("sans-serif", size).into_text_style(&root).pos(position)
    };
    // The axis would put numbers here.
    for (position, label) in what.x_labels.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(position as f64, 0.0));
        let style = text(13, HPos::Center, VPos::Top);
        root.draw(&Text::new(label.as_str(), (x, y + 8), style))?;
    }
    let (middle, bottom) = chart.backend_coord(&(last / 2.0, 0.0));
    let style = text(13, HPos::Center, VPos::Top);
    root.draw(&Text::new(
        what.x_title.as_str(),
        (middle, bottom + 28),
        style,
    ))?;
    let (_, mut legend_y) = chart.backend_coord(&(0.0, top));
    let legend_x = SIZE.0 as i32 - LEGEND_WIDTH + 16;
    for (number, line) in what.lines.iter().enumerate() {
        let colour = match number {
            0 => BASE,
            _ => COLOURS[(number - 1) % COLOURS.len()],
        };
        let values = line.values.iter().enumerate();
        let known: Vec<_> = values
            .filter_map(|(position, value)| Some((position as f64, (*value)?)))
            .collect();
        let medians = known.iter().map(|(x, value)| (*x, value.median));
        let path = medians.clone().collect::<Vec<_>>();
        chart.draw_series([PathElement::new(path, colour.stroke_width(2))])?;
        chart.draw_series(medians.map(|at| Circle::new(at, 4, colour.filled())))?;
        for (x, value) in known {
            let bar = |from, to| PathElement::new(vec![from, to], colour.stroke_width(1));
            let tick = |y| bar((x - HALF_TICK, y), (x + HALF_TICK, y));
            let range = bar((x, value.min), (x, value.max));
            chart.draw_series([range, tick(value.min), tick(value.max)])?;
        }
        let middle = (legend_x + 12, legend_y);
        let ends = vec![(legend_x, legend_y), (legend_x + 24, legend_y)];
        root.draw(&PathElement::new(ends, colour.stroke_width(2)))?;
        root.draw(&Circle::new(middle, 4, colour.filled()))?;
        let style = text(13, HPos::Left, VPos::Center);
        root.draw(&Text::new(
            line.name.as_str(),
            (legend_x + 32, legend_y),
            style,
        ))?;
        legend_y += LEGEND_LINE;
    }
    root.present()?;
    Ok(())
}
