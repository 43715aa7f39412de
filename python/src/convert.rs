//! Arrow's arrays as cells of tables and as Python's values, and JSON as Python's values.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::DataType;
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyList;
use report::Cell;

/// One value of an array.
pub(crate) fn cell(array: &ArrayRef, row: usize) -> Cell {
    if array.is_null(row) {
        return Cell::Missing;
    }
    match array.data_type() {
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).to_string().into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        _ => Cell::Missing,
    }
}

/// An array as a NumPy array of its own, or as a list if it has values that NumPy's numbers do not stand for.
pub(crate) fn numbers<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    fn of<'py, T>(py: Python<'py>, array: &PrimitiveArray<T>) -> PyResult<Bound<'py, PyAny>>
    where
        T: arrow_array::ArrowPrimitiveType,
        T::Native: Element + for<'a> IntoPyObject<'a>,
    {
        if array.null_count() > 0 {
            return Ok(PyList::new(py, array.iter())?.into_any());
        }
        Ok(PyArray1::from_slice(py, array.values()).into_any())
    }
    match array.data_type() {
        DataType::UInt32 => of(py, array.as_primitive::<UInt32Type>()),
        DataType::UInt64 => of(py, array.as_primitive::<UInt64Type>()),
        DataType::Int64 => of(py, array.as_primitive::<Int64Type>()),
        DataType::Float64 => of(py, array.as_primitive::<Float64Type>()),
        DataType::Boolean => Ok(PyList::new(py, array.as_boolean().iter())?.into_any()),
        _ => Ok(PyList::new(py, array.as_string::<i32>().iter())?.into_any()),
    }
}

/// A JSON value as Python's.
pub(crate) fn json<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}
