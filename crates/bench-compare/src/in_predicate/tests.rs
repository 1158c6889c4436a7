use super::*;

fn small() -> Request {
    Request {
        values: 500,
        rows: 3000,
        lists: Lists {
            values: 500,
            len: 40,
            is_sorted: false,
            absent_percent: 20.0,
            seed: 5,
        },
        batches: 2,
        repeats: 3,
        in_flight: 6,
        #[cfg(feature = "duckdb")]
        threads: vec![1, 2],
        #[cfg(feature = "duckdb")]
        forms: duckdb::Form::ALL.to_vec(),
    }
}

#[test]
fn all_contenders_find_the_same_rows() {
    let comparison = run(&small(), &Progress::hidden()).unwrap();
    assert!(comparison.verified());
    assert!(comparison.facts.rows_found > 0);
    let forms = if cfg!(feature = "duckdb") {
        3 + 2 * 8
    } else {
        3
    };
    assert_eq!(comparison.identities.len(), 2 * forms);
    assert_eq!(comparison.samples.len(), 3 * 2 * forms);
}

/// A contender that always answers that there are no rows.
struct Blind;

impl Contender for Blind {
    fn identity(&self) -> Identity {
        Identity {
            engine: "blind",
            form: "blind",
            list: Taken::Ready,
            threads: 1,
            answer: Answer::Count,
        }
    }

    fn answer(&mut self, _: &[u32], _: &mut Vec<u64>) -> Result<(u64, Duration)> {
        Ok((0, Duration::from_millis(1)))
    }
}

#[test]
fn a_wrong_answer_is_noticed() {
    let request = small();
    let population = Population::new(request.values, request.rows, 5).unwrap();
    let mut turns = Turns {
        request: &request,
        population: &population,
        rows: Vec::new(),
        number: 0,
    };
    let mut contenders: Vec<Box<dyn Contender>> = vec![Box::new(Blind)];
    let progress = Progress::hidden();
    let facts = turns.agree(&mut contenders, &progress).unwrap();
    assert!(!facts.is_agreed);
    let samples = turns.measure(&mut contenders, &progress).unwrap();
    assert!(samples.iter().all(|sample| !sample.verified));
}
