//! The README's example is the one that is run.

#[test]
fn the_readme_shows_the_code_of_the_example() {
    let readme = include_str!("../README.md");
    let example = include_str!("../examples/own_structure.rs");
    let block = readme
        .split("```rust\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("the README has a code block");
    // Lines that rustdoc hides make the block compile by itself.
    let shown: Vec<&str> = block
        .lines()
        .filter(|line| !line.starts_with("# "))
        .collect();
    assert!(shown.len() > 20);
    assert!(
        example.contains(&shown.join("\n")),
        "README.md and examples/own_structure.rs differ"
    );
}
