//! The README's examples equal the examples that are run.

#[test]
fn the_readme_shows_the_code_of_the_example() {
    let readme = include_str!("../README.md");
    let example = include_str!("../examples/own_structure.rs");
    let blocks = readme.split("```rust\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
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
}
