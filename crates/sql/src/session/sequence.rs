//! CREATE and ALTER SEQUENCE, and the sequences of columns: of `serial` and identities.

mod options;

use types::{Result, SqlError, SqlState, Type};

use self::options::{resolve, value};
use super::{Session, Sink, define::no_such_column};
use catalog::{
    Catalog, Column, Comments, CounterState, Dependency, Generation, IdentityMode, NewTable,
    ObjectId, OwnedBy, Relation, Sequence, SequenceOptions, StoredExpression, Table,
};
use logical::data_type;
use syntax::{
    name::DottedName,
    statement::{
        self, AlterSequence, ColumnDefinition, ColumnOptionKind, CreateSequence, SequenceClauses,
        TypeName,
    },
};

/// A sequence that a new column is to have.
pub(super) struct ColumnSequence {
    /// The column, by its position among the new ones.
    pub(super) column: usize,
    /// An identity's; `None`: a `serial`'s.
    mode: Option<IdentityMode>,
    options: SequenceOptions,
}

impl ColumnSequence {
    /// An identity's that counts as another sequence does.
    pub(super) fn like(column: usize, mode: IdentityMode, sequence: &Sequence) -> Self {
        Self {
            column,
            mode: Some(mode),
            options: sequence.options,
        }
    }
}

impl Session {
    pub(super) async fn create_sequence(
        &self,
        create: &CreateSequence,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if create.temporary {
            return Err(SqlError::unsupported("a temporary sequence"));
        }
        let clauses = &create.clauses;
        let catalog = self.transaction.catalog();
        let (schema, name) = self.place(&catalog, &create.name)?;
        if create.if_not_exists && self.is_taken(&catalog, schema, &name, sink) {
            return Ok(());
        }
        if clauses.restart.is_some() {
            let message = "RESTART is for ALTER SEQUENCE";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let ty = self.counted_type(clauses, &catalog, Type::Scalar(types::Scalar::Int8))?;
        let options = resolve(clauses, ty, None)?;
        let owned_by = match &clauses.owned_by {
            Some(Some(owner)) => Some(self.owner(&catalog, owner, schema)?),
            _ => None,
        };
        let sequence = new_sequence(schema, &name, options, owned_by);
        let ddl = self.transaction.ddl()?;
        ddl.create_sequence(sequence).await.map(drop)
    }

    pub(super) async fn alter_sequence(&self, alter: &AlterSequence) -> Result<()> {
        let clauses = &alter.clauses;
        let named = alter.name.qualified(&self.database.name)?;
        let Some((catalog, id)) = self.held_relation(&named, alter.if_exists).await? else {
            return Ok(());
        };
        let Some(Relation::Sequence(sequence)) = catalog.relation(id) else {
            let message = format!("\"{}\" is not a sequence", named.name);
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        let owned_by = match &clauses.owned_by {
            None => None,
            Some(_) if sequence.owned_by.is_some_and(|owner| owner.is_identity) => {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "cannot change ownership of identity sequence",
                ));
            }
            Some(None) => Some(None),
            Some(Some(owner)) => Some(Some(self.owner(&catalog, owner, sequence.schema)?)),
        };
        self.change_sequence(sequence, clauses, owned_by).await
    }

    /// Changes how a sequence counts, and where it goes on.
    pub(super) async fn change_sequence(
        &self,
        sequence: &Sequence,
        clauses: &SequenceClauses,
        owned_by: Option<Option<OwnedBy>>,
    ) -> Result<()> {
        let transaction = self.transaction.open()?;
        let ddl = self.transaction.ddl()?;
        // Another transaction may change it until then.
        ddl.hold_record(sequence.id).await?;
        let catalog = self.transaction.catalog();
        let sequence = catalog.expect_sequence(sequence.id)?;
        let ty = self.counted_type(clauses, &catalog, sequence.options.ty)?;
        let state = self.database.catalogs.state_of(transaction, sequence);
        let last = state.await?.last;
        let mut restart = None;
        let edit = |sequence: &mut Sequence| {
            let options = resolve(clauses, ty, Some((&sequence.options, last)))?;
            let to = clauses.restart.as_ref();
            let to = to.map(|to| Ok(value(to)?.unwrap_or(options.start)));
            restart = to.transpose()?;
            sequence.options = options;
            if let Some(owned_by) = owned_by {
                sequence.owned_by = owned_by;
            }
            Ok(())
        };
        let restarts = clauses.restart.is_some();
        let altered = ddl.alter_sequence(sequence.id, restarts, edit).await?;
        if let Some(last) = restart {
            let state = CounterState {
                last,
                is_called: false,
            };
            let catalogs = &self.database.catalogs;
            catalogs.set_value(transaction, &altered, state).await?;
        }
        Ok(())
    }

    /// Returns the type that a sequence counts in, which is `otherwise` if the clauses name none.
    fn counted_type(
        &self,
        clauses: &SequenceClauses,
        catalog: &Catalog,
        otherwise: Type,
    ) -> Result<Type> {
        let resolve = |ty| data_type::resolve(ty, catalog, self.settings.search_path());
        let written = clauses.data_type.as_ref().map(resolve).transpose()?;
        Ok(written.map_or(otherwise, |(ty, _)| ty))
    }

    /// The column that a sequence is said to belong to.
    fn owner(&self, catalog: &Catalog, written: &DottedName, schema: ObjectId) -> Result<OwnedBy> {
        let Some((table, column)) = written.split_last() else {
            let error = SqlError::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option");
            return Err(error.hint("Specify OWNED BY table.column or OWNED BY NONE."));
        };
        let column = column.as_str();
        let (found, name) = self.relation_written(catalog, &table)?;
        let Relation::Table(table) = found else {
            let message = format!("sequence cannot be owned by relation \"{name}\"");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        if table.schema != schema {
            let message = "sequence must be in same schema as table it is linked to";
            return Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                message,
            ));
        }
        let found = table.column(column);
        let (at, _) = found.ok_or_else(|| no_such_column(&table.name, column))?;
        Ok(OwnedBy {
            table: table.id,
            column: u16::try_from(at).unwrap_or(u16::MAX),
            is_identity: false,
        })
    }

    /// The sequence that a column is to have by its definition.
    pub(super) fn sequence_of(
        &self,
        table: &str,
        position: usize,
        column: &Column,
        definition: &ColumnDefinition,
    ) -> Result<Option<ColumnSequence>> {
        let mut options = definition.options.iter();
        let identity = options.find_map(|option| match &option.kind {
            ColumnOptionKind::Identity { mode, clauses } => Some((*mode, clauses)),
            _ => None,
        });
        let mut twice = None;
        let name = &column.name;
        let found = match identity {
            Some((mode, clauses)) => {
                if column.default.is_some() || is_serial(&definition.data_type) {
                    twice = Some(format!(
                        "both default and identity specified for column \"{name}\" of table \"{table}\""
                    ));
                }
                let options = identity_options(column.ty, clauses)?;
                Some((Some(identity_mode(mode)), options))
            }
            None if is_serial(&definition.data_type) => {
                if column.default.is_some() {
                    twice = Some(format!(
                        "multiple default values specified for column \"{name}\" of table \"{table}\""
                    ));
                }
                Some((None, SequenceOptions::ascending(column.ty)))
            }
            None => None,
        };
        if let Some(message) = twice {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        Ok(found.map(|(mode, options)| ColumnSequence {
            column: position,
            mode,
            options,
        }))
    }

    /// Creates the sequences of new columns, which are given their values from them.
    pub(super) async fn create_column_sequences(
        &self,
        new: &mut NewTable,
        sequences: &[ColumnSequence],
    ) -> Result<Vec<(ObjectId, OwnedBy)>> {
        let mut owned = Vec::with_capacity(sequences.len());
        for sequence in sequences {
            let column = &mut new.columns[sequence.column];
            let created = self.create_column_sequence(new.schema, &new.name, column, sequence);
            owned.push(created.await?);
        }
        Ok(owned)
    }

    /// Creates the sequence of one column; who owns it is to be told once the table is there.
    pub(super) async fn create_column_sequence(
        &self,
        schema: ObjectId,
        table: &str,
        column: &mut Column,
        sequence: &ColumnSequence,
    ) -> Result<(ObjectId, OwnedBy)> {
        let ddl = self.transaction.ddl()?;
        let is_own = |name: &str| name == table;
        let name = ddl.choose_name(schema, table, Some(&column.name), "seq", is_own);
        let new = new_sequence(schema, &name, sequence.options, None);
        let id = ddl.create_sequence(new).await?;
        column.not_null = true;
        match sequence.mode {
            Some(mode) => column.generation = Some(Generation::Identity { mode, sequence: id }),
            None => column.default = Some(next_value_of(id)),
        }
        let owner = OwnedBy {
            table: ObjectId::default(),
            column: u16::try_from(sequence.column).unwrap_or(u16::MAX),
            is_identity: sequence.mode.is_some(),
        };
        Ok((id, owner))
    }

    /// Has a table's columns own the sequences that were created for them.
    pub(super) async fn own_sequences(
        &self,
        table: &Table,
        sequences: &[(ObjectId, OwnedBy)],
    ) -> Result<()> {
        for (id, owner) in sequences {
            let own = |sequence: &mut Sequence| {
                sequence.owned_by = Some(OwnedBy {
                    table: table.id,
                    ..*owner
                });
                Ok(())
            };
            let ddl = self.transaction.ddl()?;
            ddl.alter_sequence(*id, false, own).await?;
        }
        Ok(())
    }
}

/// The mode of an identity column that a clause `GENERATED .. AS IDENTITY` names.
pub(super) fn identity_mode(written: statement::IdentityMode) -> IdentityMode {
    match written {
        statement::IdentityMode::Always => IdentityMode::Always,
        statement::IdentityMode::ByDefault => IdentityMode::ByDefault,
    }
}

/// An identity of a column that is there.
pub(super) fn column_identity(
    column: usize,
    ty: Type,
    mode: statement::IdentityMode,
    clauses: &SequenceClauses,
) -> Result<ColumnSequence> {
    Ok(ColumnSequence {
        column,
        mode: Some(identity_mode(mode)),
        options: identity_options(ty, clauses)?,
    })
}

fn identity_options(ty: Type, clauses: &SequenceClauses) -> Result<SequenceOptions> {
    use types::Scalar::{Int2, Int4, Int8};
    if !matches!(ty, Type::Scalar(Int2 | Int4 | Int8)) {
        let message = "identity column type must be smallint, integer, or bigint";
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    resolve(clauses, ty, None)
}

fn new_sequence(
    schema: ObjectId,
    name: &str,
    options: SequenceOptions,
    owned_by: Option<OwnedBy>,
) -> Sequence {
    Sequence {
        id: ObjectId::default(),
        schema,
        name: name.into(),
        options,
        owned_by,
        counter: ObjectId::default(),
        comments: Comments::default(),
    }
}

fn next_value_of(sequence: ObjectId) -> StoredExpression {
    StoredExpression {
        text: format!("nextval('{sequence}'::regclass)").into(),
        search_path: [].into(),
        dependencies: [Dependency::on(sequence)].into(),
    }
}

fn is_serial(data_type: &TypeName) -> bool {
    let names = [
        "serial",
        "serial2",
        "serial4",
        "serial8",
        "smallserial",
        "bigserial",
    ];
    let written = data_type.to_string();
    names.iter().any(|name| written.eq_ignore_ascii_case(name))
}
