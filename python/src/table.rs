//! `warplab.Table`: columns in Arrow's layout, which pandas, polars, pyarrow and DuckDB read in place through the Arrow
//! PyCapsule interface, and which prints as text and as HTML.

use crate::convert::{cell, numbers};
use crate::error::error;
use crate::html;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyImportError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use report::Cell;
use std::sync::Arc;

/// Rows of a table that is printed or shown.
const SHOWN_ROWS: usize = 20;

/// A table with a title. Reading packages share its columns.
#[pyclass(frozen, module = "warplab")]
pub(crate) struct Table {
    title: String,
    batch: RecordBatch,
}

impl Table {
    /// A table of columns of one length.
    ///
    /// # Errors
    /// The columns have different lengths.
    pub(crate) fn new(title: impl Into<String>, columns: Vec<(String, ArrayRef)>) -> PyResult<Table> {
        let field = |(name, array): &(String, ArrayRef)| {
            Field::new(name.as_str(), array.data_type().clone(), array.null_count() > 0)
        };
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::new(schema), arrays).map_err(error)?;
        Ok(Table { title: title.into(), batch })
    }

    /// A table of a report. Whole numbers become 64-bit integers, other numbers doubles.
    ///
    /// # Errors
    /// A row has more or fewer cells than there are columns.
    pub(crate) fn of_report(table: &report::Table) -> PyResult<Table> {
        let column = |(position, key): (usize, String)| {
            let cells: Vec<&Cell> = table.rows().iter().filter_map(|row| row.get(position)).collect();
            (key, array(&cells))
        };
        Table::new(table.title(), table.keys().into_iter().enumerate().map(column).collect())
    }

    /// The first rows as a table of a report.
    fn shown(&self) -> report::Table {
        let rows = self.batch.num_rows().min(SHOWN_ROWS);
        let fields = self.batch.schema();
        let columns = fields.fields().iter().zip(self.batch.columns()).map(|(field, array)| {
            let cells = (0..rows).map(|row| cell(array, row)).collect::<Vec<_>>();
            column(field, &cells)
        });
        let mut table = report::Table::new(self.title.clone(), columns);
        for row in 0..rows {
            table.push(self.batch.columns().iter().map(|array| cell(array, row)));
        }
        table
    }

    fn more(&self) -> Option<String> {
        let rows = self.batch.num_rows();
        (rows > SHOWN_ROWS).then(|| format!("… {SHOWN_ROWS} of {rows} rows"))
    }

    /// The table as HTML, without the title.
    pub(crate) fn to_html(&self) -> String {
        let more = self.more().map_or(String::new(), |more| html::paragraph(&more));
        html::table(&self.shown()) + &more
    }

    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| {
            let schema = self.batch.schema();
            let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            PyKeyError::new_err(format!("there is no column `{name}`; there are {}", known.join(", ")))
        })
    }
}

/// A column for readers: numbers without a fraction are shown without one.
fn column(field: &Field, cells: &[Cell]) -> report::Column {
    let name = field.name().as_str();
    let is_whole = |cell: &Cell| cell.number().is_none_or(|number| number.fract() == 0.0);
    let column = match field.data_type() {
        DataType::Utf8 | DataType::Boolean => report::Column::text(name),
        _ if cells.iter().all(is_whole) => report::Column::float(name, 0),
        _ => report::Column::float(name, 4),
    };
    column.key(name)
}

/// The array of a report's column.
fn array(cells: &[&Cell]) -> ArrayRef {
    if cells.iter().any(|cell| matches!(cell, Cell::Text(_))) {
        let mut builder = StringBuilder::new();
        for cell in cells {
            builder.append_option(match cell {
                Cell::Text(text) => Some(text.clone()),
                Cell::Missing => None,
                number => Some(number.raw()),
            });
        }
        return Arc::new(builder.finish());
    }
    let integer = |cell: &&Cell| match cell {
        Cell::Integer(number) => i64::try_from(*number).ok(),
        _ => None,
    };
    if cells.iter().all(|cell| matches!(**cell, Cell::Missing) || integer(cell).is_some())
        && cells.iter().any(|cell| integer(cell).is_some())
    {
        let mut builder = Int64Builder::new();
        cells.iter().for_each(|cell| builder.append_option(integer(cell)));
        return Arc::new(builder.finish());
    }
    let mut builder = Float64Builder::new();
    cells.iter().for_each(|cell| builder.append_option(cell.number()));
    Arc::new(builder.finish())
}

#[pymethods]
impl Table {
    /// What the table holds.
    #[getter]
    fn title(&self) -> &str {
        &self.title
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column: numbers as a NumPy array, text as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        numbers(py, self.column(name)?)
    }

    /// The columns by name, each as a list.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for name in self.columns() {
            let column = self.__getitem__(py, &name)?;
            let list =
                if column.is_instance_of::<PyList>() { column } else { column.call_method0("tolist")? };
            columns.set_item(name, list)?;
        }
        Ok(columns)
    }

    /// The rows, each as a dict.
    fn to_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.to_dict(py)?;
        let rows = (0..self.batch.num_rows()).map(|row| {
            let one = PyDict::new(py);
            columns.iter().try_for_each(|(name, list)| one.set_item(name, list.get_item(row)?))?;
            Ok(one)
        });
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// A polars data frame on the columns of the table; numbers are not copied.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        needed(slf.py(), "polars", "polars")?.call_method1("DataFrame", (slf,))
    }

    /// A pyarrow table on the columns of the table; nothing is copied.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        needed(slf.py(), "pyarrow", "pyarrow")?.call_method1("table", (slf,))
    }

    /// A pandas data frame whose columns are pandas' Arrow arrays; nothing is copied. Needs pyarrow, as pandas' Arrow
    /// arrays do.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = needed(slf.py(), "pandas", "pandas pyarrow")?;
        let options = PyDict::new(slf.py());
        options.set_item("types_mapper", pandas.getattr("ArrowDtype")?)?;
        Table::to_pyarrow(slf)?.call_method("to_pandas", (), Some(&options))
    }

    /// The Arrow PyCapsule interface: the schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(error)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The Arrow PyCapsule interface: the rows, in one batch. A requested schema is not followed, which the interface
    /// allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(batches);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        let more = self.more().map_or(String::new(), |more| more + "\n");
        self.shown().to_text() + &more
    }

    fn _repr_html_(&self) -> String {
        html::heading(&self.title) + &self.to_html()
    }
}

/// A package that a method needs and Warplab does not.
fn needed<'py>(py: Python<'py>, module: &str, packages: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(module).map_err(|why| match why.is_instance_of::<PyImportError>(py) {
        true => PyImportError::new_err(format!("this needs {module}: pip install {packages}")),
        false => why,
    })
}
