//! ONNX files without ONNX Runtime: metadata and constant tensors.

pub mod proto;

use std::collections::HashMap;

use prost::Message;

use proto::{FLOAT, INT8, INT16, ModelProto, TensorProto};

pub(super) struct OnnxFile {
    pub metadata: HashMap<String, String>,
    pub initialisers: HashMap<String, Initialiser>,
}

pub(super) struct Initialiser {
    /// Negative dimensions become 0.
    pub shape: Vec<usize>,
    pub values: Values,
}

/// Row-major.
pub(super) enum Values {
    F32(Vec<f32>),
    I16(Vec<i16>),
    I8(Vec<i8>),
    /// A `TensorProto.DataType` that no weight has.
    Other(i32),
    /// Byte count of a tensor that ends within a number.
    Torn(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileContents {
    pub metadata: HashMap<String, String>,
    pub parameters: usize,
}

impl FileContents {
    pub fn read(bytes: &[u8]) -> Result<FileContents, String> {
        let OnnxFile { metadata, initialisers } = OnnxFile::read(bytes)?;
        let numbers =
            initialisers.values().map(|tensor| tensor.shape.iter().copied().fold(1, usize::saturating_mul));
        Ok(FileContents { metadata, parameters: numbers.fold(0, usize::saturating_add) })
    }
}

impl OnnxFile {
    pub fn read(bytes: &[u8]) -> Result<OnnxFile, String> {
        let model = ModelProto::decode(bytes).map_err(|error| error.to_string())?;
        let graph = model.graph.ok_or("there is no graph")?;
        let initialisers = graph.initializer.into_iter().map(|tensor| {
            let shape = tensor.dims.iter().map(|dim| usize::try_from(*dim).unwrap_or(0)).collect();
            (tensor.name.clone(), Initialiser { shape, values: values(tensor) })
        });
        let metadata = model.metadata_props.into_iter().map(|property| (property.key, property.value));
        Ok(OnnxFile { metadata: metadata.collect(), initialisers: initialisers.collect() })
    }
}

fn values(tensor: TensorProto) -> Values {
    match tensor.data_type {
        FLOAT if !tensor.float_data.is_empty() => Values::F32(tensor.float_data),
        FLOAT => numbers(&tensor.raw_data, f32::from_le_bytes, Values::F32),
        INT16 => numbers(&tensor.raw_data, i16::from_le_bytes, Values::I16),
        INT8 => numbers(&tensor.raw_data, i8::from_le_bytes, Values::I8),
        other => Values::Other(other),
    }
}

fn numbers<T, const N: usize>(
    bytes: &[u8],
    number: impl Fn([u8; N]) -> T,
    values: impl Fn(Vec<T>) -> Values,
) -> Values {
    match bytes.as_chunks::<N>() {
        (whole, []) => values(whole.iter().map(|bytes| number(*bytes)).collect()),
        _ => Values::Torn(bytes.len()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::proto::{GraphProto, StringStringEntryProto};
    use super::*;

    pub fn file(tensors: &[(&str, &[usize], &[f32])], metadata: &[(&str, &str)]) -> Vec<u8> {
        let initializer = tensors.iter().map(|(name, shape, values)| TensorProto {
            dims: shape.iter().map(|dim| *dim as i64).collect(),
            data_type: FLOAT,
            name: (*name).into(),
            raw_data: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            ..TensorProto::default()
        });
        let properties = metadata
            .iter()
            .map(|(key, value)| StringStringEntryProto { key: (*key).into(), value: (*value).into() });
        let graph = Some(GraphProto { initializer: initializer.collect(), ..GraphProto::default() });
        ModelProto { graph, metadata_props: properties.collect(), ..ModelProto::default() }.encode_to_vec()
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

    #[test]
    fn a_tensor_that_ends_within_a_number_and_absurd_shapes_are_noticed() {
        let torn = TensorProto { data_type: FLOAT, raw_data: vec![0; 6], ..TensorProto::default() };
        assert!(matches!(values(torn), Values::Torn(6)));
        let bytes = file(&[("weight", &[1 << 40, 1 << 40], &[])], &[]);
        assert_eq!(FileContents::read(&bytes).unwrap().parameters, usize::MAX);
    }
}
