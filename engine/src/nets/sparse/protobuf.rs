//! The part of ONNX's protobuf schema (onnx.proto) that holds a file's weights and metadata.

use std::collections::HashMap;

use prost::Message;

/// `TensorProto.DataType.FLOAT`
const FLOAT: i32 = 1;
/// `TensorProto.DataType.INT8`
const INT8: i32 = 3;
/// `TensorProto.DataType.INT16`
const INT16: i32 = 5;

#[derive(Clone, PartialEq, Message)]
struct Model {
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
    #[prost(message, repeated, tag = "14")]
    metadata_props: Vec<Property>,
}

#[derive(Clone, PartialEq, Message)]
struct Property {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Graph {
    #[prost(message, repeated, tag = "5")]
    initializer: Vec<Initialiser>,
}

/// `TensorProto`
#[derive(Clone, PartialEq, Message)]
struct Initialiser {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    data_type: i32,
    #[prost(float, repeated, tag = "4")]
    float_data: Vec<f32>,
    #[prost(string, tag = "8")]
    name: String,
    /// Little-endian, row-major.
    #[prost(bytes = "vec", tag = "9")]
    raw_data: Vec<u8>,
}

/// What a file holds besides its graph of operations.
pub(super) struct OnnxFile {
    pub metadata: HashMap<String, String>,
    pub initialisers: HashMap<String, Initial>,
}

/// A constant tensor.
pub(super) struct Initial {
    pub shape: Vec<usize>,
    pub values: Values,
}

/// A tensor's numbers, row-major.
pub(super) enum Values {
    F32(Vec<f32>),
    I16(Vec<i16>),
    I8(Vec<i8>),
    /// Of a type that no weight has: `TensorProto.DataType`.
    Other(i32),
}

/// What any ONNX file says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileContents {
    /// The model's properties.
    pub metadata: HashMap<String, String>,
    /// The numbers in all constant tensors.
    pub parameters: usize,
}

impl FileContents {
    /// Reads a file's bytes.
    ///
    /// # Errors
    ///
    /// If they are not an ONNX model.
    pub fn read(bytes: &[u8]) -> Result<FileContents, String> {
        let OnnxFile { metadata, initialisers } = OnnxFile::read(bytes)?;
        let parameters = initialisers.values().map(|tensor| tensor.shape.iter().product::<usize>()).sum();
        Ok(FileContents { metadata, parameters })
    }
}

impl OnnxFile {
    /// Reads a file's bytes.
    ///
    /// # Errors
    ///
    /// If they are not an ONNX model.
    pub fn read(bytes: &[u8]) -> Result<OnnxFile, String> {
        let model = Model::decode(bytes).map_err(|error| error.to_string())?;
        let graph = model.graph.ok_or("there is no graph")?;
        let initialisers = graph.initializer.into_iter().map(|tensor| {
            let shape = tensor.dims.iter().map(|dim| usize::try_from(*dim).unwrap_or(0)).collect();
            (tensor.name.clone(), Initial { shape, values: tensor.values() })
        });
        let metadata = model.metadata_props.into_iter().map(|property| (property.key, property.value));
        Ok(OnnxFile { metadata: metadata.collect(), initialisers: initialisers.collect() })
    }
}

impl Initialiser {
    fn values(self) -> Values {
        match self.data_type {
            FLOAT if !self.float_data.is_empty() => Values::F32(self.float_data),
            FLOAT => Values::F32(numbers(&self.raw_data, f32::from_le_bytes)),
            INT16 => Values::I16(numbers(&self.raw_data, i16::from_le_bytes)),
            INT8 => Values::I8(numbers(&self.raw_data, i8::from_le_bytes)),
            other => Values::Other(other),
        }
    }
}

fn numbers<T, const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file with these weights and metadata, as an exporter writes it.
    pub fn file(tensors: &[(&str, &[usize], &[f32])], metadata: &[(&str, &str)]) -> Vec<u8> {
        let initializer = tensors.iter().map(|(name, shape, values)| Initialiser {
            dims: shape.iter().map(|dim| *dim as i64).collect(),
            data_type: FLOAT,
            float_data: Vec::new(),
            name: (*name).into(),
            raw_data: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        });
        let properties =
            metadata.iter().map(|(key, value)| Property { key: (*key).into(), value: (*value).into() });
        let graph = Some(Graph { initializer: initializer.collect() });
        Model { graph, metadata_props: properties.collect() }.encode_to_vec()
    }

    #[test]
    fn tensors_and_metadata_are_read() {
        let bytes = file(&[("weight", &[2, 1], &[0.5, -3.0])], &[("philidor.name", "test")]);
        let file = OnnxFile::read(&bytes).unwrap();
        assert_eq!(file.metadata["philidor.name"], "test");
        let weight = &file.initialisers["weight"];
        assert_eq!(weight.shape, [2, 1]);
        assert!(matches!(&weight.values, Values::F32(values) if *values == [0.5, -3.0]));
        assert!(OnnxFile::read(b"not a network").is_err());
    }
}
