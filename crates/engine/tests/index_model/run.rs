//! A run: random operations on the database and on the model, compared one by one.

use super::*;

pub(super) struct Run<P> {
    /// Bytes of the versions that describe the table.
    catalog_bytes: u64,
    rng: Rng,
    session: Rc<Session>,
    table: Arc<Table>,
    indexes: Vec<Index>,
    model: Model,
    open: Vec<Open>,
    duplicates: u64,
    wall: WallClock,
    /// Lifetime in microseconds; 0: records live for ever.
    ttl: u64,
    /// Session that collects expired records when its clock is moved.
    walker: Rc<Session>,
    walker_clock: Rc<Cell<Duration>>,
    expired: u64,
    _policy: std::marker::PhantomData<P>,
}

impl<P: Policy> Run<P> {
    pub(super) fn new(seed: u64, ttl: u64) -> Run<P> {
        let database = Database::new(DatabaseConfig::with_memory(64 << 20)).unwrap();
        let wall = WallClock::manual(WallTime(1_000_000));
        assert!(database.set_wall_clock(wall.clone()));
        let options = TableOptions {
            ttl: (ttl > 0).then_some(Duration::from_micros(ttl)),
        };
        let table = database.create_table_with("t", &[], options).unwrap();
        let walker_clock = Rc::new(Cell::new(Duration::ZERO));
        let clock = Clock::Manual(walker_clock.clone());
        let walker = Session::with_clock(&database, clock).unwrap();
        walker.before_sleep();
        walker.before_sleep();
        let session = Session::new(&database).unwrap();
        let index = |number: usize| {
            let options = IndexOptions {
                unique: is_unique(number),
                prefix_free: false,
            };
            let name = number.to_string();
            let build = session.begin_index(&table, &name, options, extractor(number));
            let mut build = build.unwrap();
            while run_inline(build.step::<P>()).unwrap() != BuildStep::Ready {
                session.tend();
            }
            build.index().clone()
        };
        let indexes = (0..INDEXES).map(index).collect();
        for _ in 0..20 {
            walker.before_sleep();
            session.tend();
        }
        Run {
            catalog_bytes: database.memory().version_bytes,
            rng: Rng(seed | 1),
            indexes,
            session,
            table,
            model: Model::default(),
            open: Vec::new(),
            duplicates: 0,
            wall,
            ttl,
            walker,
            walker_clock,
            expired: 0,
            _policy: std::marker::PhantomData,
        }
    }

    fn snapshot_of(&self, open: &Open) -> u64 {
        match open.isolation {
            Isolation::ReadCommitted => self.model.commits,
            _ => open.snapshot,
        }
    }

    /// Returns the content that is stored under a name, whether it has expired or not.
    fn stored(&self, open: &Open, name: &Name) -> Content {
        match open.writes.get(name) {
            Some(own) => own.clone(),
            None => self.model.at(name, self.snapshot_of(open)),
        }
    }

    fn present(&self, open: &Open) -> u64 {
        match open.isolation {
            Isolation::ReadCommitted => self.wall.now().0,
            _ => open.txn.present().0,
        }
    }

    fn sees(&self, open: &Open, name: &Name) -> Option<Bytes> {
        let (content, until) = self.stored(open, name)?;
        (until > self.present(open)).then_some(content)
    }

    /// Returns the abort that a write by transaction `me` must meet, if its snapshot does not move
    /// instead.
    fn conflict(&mut self, me: usize, name: &Name) -> Option<Abort> {
        let open = &self.open[me];
        if open.writes.contains_key(name) {
            return None;
        }
        let mut others = self.open.iter().enumerate().filter(|(i, _)| *i != me);
        if others.any(|(_, other)| other.writes.contains_key(name)) {
            return Some(Abort::WriteConflict);
        }
        let snapshot = self.snapshot_of(open);
        if !self.model.changed_since(name, snapshot) {
            return None;
        }
        let is_current = |name: &Name| !self.model.changed_since(name, snapshot);
        if !(open.reads.as_ref()).is_some_and(|reads| reads.iter().all(is_current)) {
            return Some(Abort::SnapshotTooOld);
        }
        self.open[me].snapshot = self.model.commits;
        None
    }

    /// Notes that transaction `me` reads a name, for its snapshot.
    fn note(&mut self, me: usize, name: &Name) {
        match self.stored(&self.open[me], name) {
            Some(_) => self.open[me].note(name),
            None => self.open[me].reads = None,
        }
    }

    pub(super) fn step(&mut self) {
        if self.open.is_empty() || (self.open.len() < 4 && self.rng.below(8) == 0) {
            let isolation = match self.rng.below(3) {
                0 => Isolation::ReadCommitted,
                _ => Isolation::Snapshot,
            };
            self.open.push(Open {
                txn: self.session.begin(isolation).unwrap(),
                isolation,
                snapshot: self.model.commits,
                writes: BTreeMap::new(),
                savepoints: Vec::new(),
                reads: Some(Vec::new()),
            });
            return;
        }
        let me = self.rng.below(self.open.len() as u64) as usize;
        match self.rng.below(if self.ttl > 0 { 32 } else { 27 }) {
            27 => self.collect(),
            28.. => self.move_wall_clock(),
            24 | 25 => self.save(me),
            26 => self.return_to_savepoint(me),
            0 | 1 => self.commit(me),
            2 => drop(self.open.swap_remove(me)),
            3 => self.session.tend(),
            4..7 => self.read(me),
            7..10 => self.read_by(me),
            10..13 => self.scan_by(me),
            _ => self.write(me),
        }
        if self.rng.below(64) == 0 {
            self.check();
        }
    }

    fn move_wall_clock(&mut self) {
        let now = self.wall.now().0;
        let step = self.rng.below(self.ttl / 2);
        let back = self.rng.below(5) == 0;
        self.wall
            .set(WallTime(if back { now - step / 2 } else { now + step }));
    }

    /// Models one walk: a transaction that deletes expired records, or gives way.
    fn collect(&mut self) {
        self.open.push(Open {
            txn: self.session.begin(Isolation::Snapshot).unwrap(),
            isolation: Isolation::Snapshot,
            snapshot: self.model.commits,
            writes: BTreeMap::new(),
            savepoints: Vec::new(),
            // The walk scans.
            reads: None,
        });
        let me = self.open.len() - 1;
        let names: Vec<Name> = self.model.history.keys().cloned().collect();
        let mut gives_way = false;
        for name in names {
            let there = self.stored(&self.open[me], &name);
            if let Name::Record(key) = &name
                && there.is_some_and(|(_, until)| until <= self.wall.now().0)
                && !gives_way
            {
                gives_way = self.predict_expiry(me, key).is_some();
            }
        }
        let writes = self.open.pop().unwrap().writes;
        if !gives_way && !writes.is_empty() {
            self.expired += 1;
            self.model.commit(writes);
        }
        self.walk();
    }

    fn walk(&mut self) {
        let clock = &self.walker_clock;
        clock.set(clock.get() + Duration::from_secs(100));
        self.walker.before_sleep();
        self.walker.before_sleep();
    }

    fn commit(&mut self, me: usize) {
        let open = self.open.swap_remove(me);
        run_inline(open.txn.commit()).unwrap();
        if !open.writes.is_empty() {
            self.model.commit(open.writes);
        }
    }

    fn save(&mut self, me: usize) {
        let open = &mut self.open[me];
        let savepoint = open.txn.savepoint().unwrap();
        open.savepoints.push((savepoint, open.writes.clone()));
    }

    fn return_to_savepoint(&mut self, me: usize) {
        let open = &mut self.open[me];
        if !open.savepoints.is_empty() {
            let at = self.rng.below(open.savepoints.len() as u64) as usize;
            open.savepoints.truncate(at + 1);
            open.txn.rollback_to(&open.savepoints[at].0).unwrap();
            open.writes = open.savepoints[at].1.clone();
            open.reads = None;
        }
    }

    fn read(&mut self, me: usize) {
        let key = self.rng.indexed_key();
        let open = &self.open[me];
        let read = open.txn.get::<P, _>(&self.table, &key, <[u8]>::to_vec);
        let expected = self.sees(open, &Name::Record(key.clone()));
        assert_eq!(run_inline(read).unwrap(), expected, "read of {key:?}");
        self.note(me, &Name::Record(key));
    }

    fn read_by(&mut self, me: usize) {
        let index = self.rng.below(3) as usize;
        let key = match index {
            2 => [self.rng.index_key(), vec![self.rng.below(12) as u8]].concat(),
            _ => self.rng.index_key(),
        };
        let open = &self.open[me];
        let pair = |key: &[u8], value: &[u8]| (key.to_vec(), value.to_vec());
        let read = open.txn.get_by::<P, _>(&self.indexes[index], &key, pair);
        let name = entry(index, &key, &[]);
        let expected = self.sees(open, &name).map(|primary_key| {
            let value = self.sees(open, &Name::Record(primary_key.clone()));
            (primary_key, value.expect("entries lead to records"))
        });
        assert_eq!(run_inline(read).unwrap(), expected, "read by {key:?}");
        self.note(me, &name);
        if let Some((primary_key, _)) = expected {
            self.note(me, &Name::Record(primary_key));
        }
    }

    fn scan_by(&mut self, me: usize) {
        let index = self.rng.below(INDEXES as u64) as usize;
        let direction = match self.rng.below(2) {
            0 => Direction::Forward,
            _ => Direction::Backward,
        };
        let (low, high) = (self.rng.index_key(), self.rng.index_key());
        let range = match self.rng.below(5) {
            0 => (Bound::Unbounded, Bound::Unbounded),
            1 => (Bound::Included(low.clone()), Bound::Unbounded),
            2 => (Bound::Excluded(low.clone()), Bound::Excluded(high.clone())),
            3 => (Bound::Included(low.clone()), Bound::Included(low.clone())),
            _ => (Bound::Unbounded, Bound::Included(high.clone())),
        };
        let limit = match self.rng.below(2) {
            0 => usize::MAX,
            _ => 1 + self.rng.below(20) as usize,
        };
        let open = &self.open[me];
        let names = self.model.history.keys().chain(open.writes.keys());
        let names: BTreeSet<&Name> = names.collect();
        let mut expected = Vec::new();
        for name in names {
            if let Name::Entry(of, key, _) = name
                && *of == index
                && (
                    range.0.as_ref().map(Vec::as_slice),
                    range.1.as_ref().map(Vec::as_slice),
                )
                    .contains(key.as_slice())
                && let Some(primary_key) = self.sees(open, name)
            {
                let value = self.sees(open, &Name::Record(primary_key.clone()));
                let value = value.expect("entries lead to records");
                let covered = keys_of(index, &value)[key].clone();
                expected.push((key.clone(), primary_key, value, covered));
            }
        }
        let bounds = (
            range.0.as_ref().map(Vec::as_slice),
            range.1.as_ref().map(Vec::as_slice),
        );
        for covering in [false, true] {
            let mut rows = Vec::new();
            let mut visit = |key: &[u8], primary_key: &[u8], content: &[u8]| {
                rows.push((key.to_vec(), primary_key.to_vec(), content.to_vec()));
                match rows.len() == limit {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            let (txn, index) = (&open.txn, &self.indexes[index]);
            let visited = match covering {
                false => run_inline(txn.scan_by::<P>(index, bounds, direction, &mut visit)),
                true => run_inline(txn.scan_covered::<P>(index, bounds, direction, &mut visit)),
            };
            assert_eq!(visited.unwrap(), rows.len() as u64);
            let ordered = match direction {
                Direction::Forward => rows.is_sorted_by(|a, b| a.0 <= b.0),
                Direction::Backward => rows.is_sorted_by(|a, b| a.0 >= b.0),
            };
            assert!(ordered, "{rows:?}");
            assert_eq!(rows.len(), expected.len().min(limit));
            // The engine chooses which of the rows with one key come first.
            if rows.len() == expected.len() {
                let content = |(key, primary_key, value, covered): &(_, _, _, _)| match covering {
                    false => (
                        Bytes::clone(key),
                        Bytes::clone(primary_key),
                        Bytes::clone(value),
                    ),
                    true => (
                        Bytes::clone(key),
                        Bytes::clone(primary_key),
                        Bytes::clone(covered),
                    ),
                };
                rows.sort();
                let mut expected: Vec<_> = expected.iter().map(content).collect();
                expected.sort();
                assert_eq!(rows, expected);
            }
        }
        self.open[me].reads = None;
    }

    /// Predicts the outcome of a write, and changes the transaction's writes accordingly.
    fn predict(&mut self, me: usize, key: &Bytes, value: Option<&Bytes>, kind: u64) -> Outcome {
        let record = Name::Record(key.clone());
        let conflict = self.conflict(me, &record);
        let old = self.sees(&self.open[me], &record);
        match (kind, conflict) {
            // Changing a record that is absent for the snapshot conflicts with nothing.
            (2.., Some(abort)) if old.is_some() => return Outcome::Abort(abort),
            (2.., _) if old.is_none() => return Outcome::Done(false),
            (_, Some(abort)) => return Outcome::Abort(abort),
            (0, None) if old.is_some() => return Outcome::Duplicate,
            _ => {}
        }
        let before = self.open[me].writes.clone();
        match self.predict_operation(me, key, value) {
            Ok(()) => Outcome::Done(true),
            Err(Outcome::DuplicateIn(index)) => {
                self.open[me].writes = before;
                self.open[me].reads = None;
                Outcome::DuplicateIn(index)
            }
            Err(outcome) => outcome,
        }
    }

    /// Predicts the failure of deleting an expired record, if it must fail.
    fn predict_expiry(&mut self, me: usize, key: &Bytes) -> Option<Outcome> {
        match self.conflict(me, &Name::Record(key.clone())) {
            Some(abort) => Some(Outcome::Abort(abort)),
            None => self.predict_operation(me, key, None).err(),
        }
    }

    /// Returns the writes of an operation on a record that may be written.
    fn predict_operation(
        &mut self,
        me: usize,
        key: &Bytes,
        value: Option<&Bytes>,
    ) -> Result<(), Outcome> {
        let isolation = self.open[me].isolation;
        let present = self.present(&self.open[me]);
        let until = match self.ttl {
            0 => u64::MAX,
            ttl => present + ttl,
        };
        let record = Name::Record(key.clone());
        let old = self.stored(&self.open[me], &record);
        let new = value.map(|value| (value.clone(), until));
        self.open[me].writes.insert(record, new.clone());
        for index in 0..INDEXES {
            let keys = |content: &Content| match content {
                Some((value, _)) => keys_of(index, value),
                None => BTreeMap::new(),
            };
            let (old_keys, new_keys) = (keys(&old), keys(&new));
            let same_expiry = old.as_ref().map(|old| old.1) == Some(until);
            let mut claims = Vec::new();
            for index_key in old_keys.keys().filter(|key| !new_keys.contains_key(*key)) {
                claims.push((index_key, None));
            }
            for (index_key, covered) in &new_keys {
                if !same_expiry || old_keys.get(index_key) != Some(covered) {
                    claims.push((index_key, Some((key.clone(), until))));
                }
            }
            for (index_key, content) in claims {
                let name = entry(index, index_key, key);
                match self.conflict(me, &name) {
                    Some(Abort::SnapshotTooOld) if isolation == Isolation::ReadCommitted => {}
                    Some(abort) => return Err(Outcome::Abort(abort)),
                    None => {}
                }
                if content.is_some()
                    && let Some((other, other_until)) = self.stored(&self.open[me], &name)
                    && other != *key
                {
                    if other_until > present {
                        return Err(Outcome::DuplicateIn(index));
                    }
                    self.note(me, &name);
                    self.expired += 1;
                    if let Some(failure) = self.predict_expiry(me, &other) {
                        return Err(failure);
                    }
                }
                self.open[me].writes.insert(name, content);
            }
        }
        Ok(())
    }

    fn write(&mut self, me: usize) {
        let (key, value) = (self.rng.indexed_key(), self.rng.indexed_value());
        let kind = self.rng.below(5);
        // The current record, at the newer snapshot if the snapshot moves.
        let record = Name::Record(key.clone());
        self.conflict(me, &record);
        let before = self.sees(&self.open[me], &record);
        let predicted = self.predict(me, &key, (kind != 3).then_some(&value), kind);
        let expected = match predicted {
            Outcome::Done(done) => Ok(done),
            Outcome::Duplicate => Err(Error::DuplicateKey),
            Outcome::DuplicateIn(index) => {
                self.duplicates += 1;
                let index = self.indexes[index].number() as usize;
                Err(Error::DuplicateIndexKey { index })
            }
            Outcome::Abort(abort) => Err(Error::Abort(abort)),
        };
        let (table, txn) = (&self.table, &self.open[me].txn);
        let result = match kind {
            0 => run_inline(txn.insert::<P>(table, &key, &value)).map(|()| true),
            1 => run_inline(txn.upsert::<P>(table, &key, &value)).map(|()| true),
            2 => run_inline(txn.update::<P>(table, &key, &value)),
            3 => run_inline(txn.delete::<P>(table, &key)),
            _ => run_inline(txn.modify::<P>(table, &key, |old, new| {
                assert_eq!(Some(old), before.as_deref(), "{key:?}");
                new.extend_from_slice(&value);
                ControlFlow::Continue(())
            })),
        };
        assert_eq!(result, expected, "write kind {kind} of {key:?}");
        match result {
            Err(Error::Abort(abort)) => {
                let open = self.open.swap_remove(me);
                assert_eq!(run_inline(open.txn.commit()), Err(Error::Abort(abort)));
            }
            Err(Error::DuplicateKey) => self.note(me, &Name::Record(key)),
            Ok(false) => self.open[me].reads = None,
            _ => {}
        }
    }

    fn check(&self) {
        for index in &self.indexes {
            let report = run_inline(self.session.check_index::<P>(index)).unwrap();
            assert_eq!(report.flaws, []);
        }
    }

    /// Ends everything and checks that nothing but the live records remains.
    pub(super) fn finish(mut self) -> (u64, u64) {
        while !self.open.is_empty() {
            self.commit(0);
        }
        self.check();
        let txn = self.session.begin(Isolation::Snapshot).unwrap();
        for key in (0..16).map(|i| match i % 2 {
            0 => vec![b'k', i as u8],
            _ => format!("a long common prefix {i}").into_bytes(),
        }) {
            run_inline(txn.delete::<P>(&self.table, &key)).unwrap();
        }
        run_inline(txn.commit()).unwrap();
        // Records that the transaction did not see, because they had expired.
        self.wall.advance(Duration::from_secs(1000));
        self.walk();
        self.check();
        for _ in 0..20 {
            self.walker.before_sleep();
            self.session.tend();
        }
        let used = self.session.database().memory().version_bytes;
        assert_eq!(
            used, self.catalog_bytes,
            "versions of records or entries leak"
        );
        (self.duplicates, self.expired)
    }
}
