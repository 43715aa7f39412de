//! Tables as Parquet files, for pandas, polars and DuckDB: one row group, Snappy pages, every column optional.
//!
//! Text becomes UTF-8, whole numbers INT64 (a column with one that does not fit becomes DOUBLE), other
//! numbers DOUBLE; missing and non-finite values are null. Names of columns are the keys of CSV and JSON.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::format::Format;
use crate::report::PRODUCED_BY;
use crate::table::{Cell, Column, Table};

/// Parquet type of a column's cells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Number,
}

impl Table {
    /// The table as a Parquet file. Equal tables give equal bytes.
    ///
    /// # Errors
    /// A sentence from the Parquet writer.
    pub fn to_parquet(&self) -> Result<Vec<u8>, String> {
        self.to_parquet_of(None)
    }

    /// The same with what produced the numbers in the file's metadata, as JSON under `produced_by`.
    ///
    /// # Errors
    /// A sentence from the Parquet writer.
    pub fn to_parquet_of(&self, produced_by: Option<&serde_json::Value>) -> Result<Vec<u8>, String> {
        self.encode(produced_by).map_err(|why| why.to_string())
    }

    fn encode(&self, produced_by: Option<&serde_json::Value>) -> Result<Vec<u8>, ParquetError> {
        let kinds: Vec<Kind> = (0..self.columns.len()).map(|index| self.kind(index)).collect();
        let fields = self.keys().into_iter().zip(&kinds).map(|(key, kind)| field(&key, *kind));
        let schema =
            Type::group_type_builder("table").with_fields(fields.collect::<Result<_, _>>()?).build()?;
        let properties = WriterProperties::builder()
            .set_created_by(concat!("warplab ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(
                produced_by.map(|what| vec![KeyValue::new(PRODUCED_BY.to_owned(), what.to_string())]),
            )
            .build();
        let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for (index, kind) in kinds.iter().enumerate() {
            let cells = self.rows.iter().map(|row| row.get(index).unwrap_or(&Cell::Missing));
            match kind {
                Kind::Text => put::<ByteArrayType>(&mut group, cells.map(text))?,
                Kind::Integer => put::<Int64Type>(&mut group, cells.map(integer))?,
                Kind::Number => put::<DoubleType>(&mut group, cells.map(Cell::number))?,
            }
        }
        group.close()?;
        writer.into_inner()
    }

    /// The type of a column is that of its cells; if all are missing, the declared one.
    fn kind(&self, index: usize) -> Kind {
        let cells = || self.rows.iter().filter_map(move |row| row.get(index));
        let is = |test: fn(&Cell) -> bool| cells().any(test);
        if is(|cell| matches!(cell, Cell::Text(_) | Cell::Name { .. })) {
            Kind::Text
        } else if is(|cell| matches!(cell, Cell::Number(_)) || beyond(cell)) {
            Kind::Number
        } else if is(|cell| matches!(cell, Cell::Integer(_))) {
            Kind::Integer
        } else {
            declared(&self.columns[index])
        }
    }
}

fn declared(column: &Column) -> Kind {
    match column.format {
        None => Kind::Text,
        Some(Format::Integer) => Kind::Integer,
        Some(_) => Kind::Number,
    }
}

/// Whether a whole number does not fit 64 bits.
fn beyond(cell: &Cell) -> bool {
    matches!(cell, Cell::Integer(value) if i64::try_from(*value).is_err())
}

fn field(key: &str, kind: Kind) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Integer => (Physical::INT64, None),
        Kind::Number => (Physical::DOUBLE, None),
    };
    let builder = Type::primitive_type_builder(key, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(builder.with_logical_type(logical).build()?))
}

fn text(cell: &Cell) -> Option<ByteArray> {
    match cell {
        Cell::Missing => None,
        other => Some(ByteArray::from(other.raw().into_bytes())),
    }
}

fn integer(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Integer(value) => i64::try_from(*value).ok(),
        _ => None,
    }
}

/// Writes the next column: a definition level per row, and the values of the rows that have one.
fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let cells: Vec<Option<T::T>> = cells.collect();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than the table".to_owned()));
    };
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}
