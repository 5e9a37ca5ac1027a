//! Randomly damaged files are refused with an error that names the damage. A failed assertion names its seed.

use prost::Message;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::network::{SparseNetwork, tests::small_file};
use crate::nets::card_file::FileCard;
use crate::nets::onnx_file::proto::{GraphProto, ModelProto, StringStringEntryProto, TensorProto};

fn graph(model: &mut ModelProto) -> &mut GraphProto {
    model.graph.as_mut().expect("the small network has a graph")
}

fn property<'a>(model: &'a mut ModelProto, key: &str) -> &'a mut StringStringEntryProto {
    model.metadata_props.iter_mut().find(|property| property.key == key).expect("a property of the card")
}

fn damage_card(model: &mut ModelProto, random: &mut SmallRng) -> String {
    let keys = ["format", "family", "input", "policy", "value", "golden"];
    let key = format!("philidor.{}", keys.choose(random).expect("keys"));
    match random.random_range(0..6) {
        0 => model.metadata_props.retain(|property| property.key != key),
        1 => property(model, &key).key = key.to_uppercase(),
        2 => property(model, &key).value.clear(),
        3 => property(model, &key).value = "\u{0}\u{7f}é]".into(),
        4 => property(model, &key).value.insert(0, ' '),
        _ => property(model, &key).value += "x",
    }
    if key == "philidor.golden" && property_is(model, &key, |text| text.starts_with(" [")) {
        // JSON may begin with a blank.
        property(model, &key).value.clear();
    }
    key
}

fn property_is(model: &ModelProto, key: &str, is: impl Fn(&str) -> bool) -> bool {
    model.metadata_props.iter().any(|property| property.key == key && is(&property.value))
}

fn damage_golden(model: &mut ModelProto, random: &mut SmallRng) -> String {
    let text = &mut property(model, "philidor.golden").value;
    let mut golden: serde_json::Value = serde_json::from_str(text).expect("golden answers");
    let count = golden.as_array().expect("a list").len();
    let one = &mut golden[random.random_range(0..count)];
    let mut name = "golden";
    match random.random_range(0..9) {
        0 => golden = serde_json::json!([]),
        1 => golden = serde_json::json!({}),
        2 => one["fen"] = "8/8/8/8/8/8/8/8 w - - 0 1".into(),
        3 => one["fen"] = "no\nposition".into(),
        4 => {
            one["moves"] = "e9e4".into();
            name = "e9e4";
        }
        5 => one["wdl"] = serde_json::json!([0.5, 0.5]),
        6 => one["wdl"] = serde_json::json!([9.0, -8.0, 1e30]),
        7 => one["policy"] = serde_json::json!({}),
        _ => one["more"] = 1.into(),
    }
    *text = golden.to_string();
    name.to_owned()
}

fn damage_tensor(model: &mut ModelProto, random: &mut SmallRng) -> String {
    let tensors = &mut graph(model).initializer;
    let index = random.random_range(0..tensors.len());
    let tensor = &mut tensors[index];
    let name = tensor.name.clone();
    // In the last layer, nothing but the golden answers limits finite numbers.
    let odd = [f32::NAN, f32::INFINITY, -1e30, 1e9];
    let odd = if name.starts_with("value_out") { &odd[..2] } else { &odd[..] };
    match random.random_range(0..8) {
        0 => drop(tensors.remove(index)),
        1 => tensor.name += "s",
        2 => tensor.dims.clear(),
        3 => {
            *tensor.dims.last_mut().expect("an axis") =
                [0, -1, 5, i64::MAX, i64::MIN, 1 << 40][random.random_range(0..6)]
        }
        4 => tensor.data_type = [0, 2, 7, 10, 11, 16, 99, -1][random.random_range(0..8)],
        5 => tensor.raw_data.truncate(random.random_range(0..tensor.raw_data.len())),
        6 => tensor.raw_data.extend(vec![0; random.random_range(1..9)]),
        _ => {
            let place = 4 * random.random_range(0..tensor.raw_data.len() / 4);
            tensor.raw_data[place..place + 4]
                .copy_from_slice(&odd.choose(random).expect("some").to_le_bytes());
        }
    }
    name
}

fn is_tensor(model: &ModelProto, name: &str) -> bool {
    let tensors = model.graph.iter().flat_map(|graph| &graph.initializer);
    tensors.map(|tensor: &TensorProto| &tensor.name).any(|known| known == name)
}

#[test]
fn every_damage_is_refused_and_named() {
    let sound = ModelProto::decode(&small_file()[..]).unwrap();
    let widths = ["policy_bias", "value_bias", "value_l1_bias"];
    for seed in 0..300 {
        let random = &mut SmallRng::seed_from_u64(seed);
        let mut model = sound.clone();
        let name = match seed % 3 {
            0 => damage_card(&mut model, random),
            1 => damage_golden(&mut model, random),
            _ => damage_tensor(&mut model, random),
        };
        let bytes = model.encode_to_vec();
        let Err(error) = SparseNetwork::read(&bytes) else {
            panic!("seed {seed}: {name} is damaged and the network was read");
        };
        let error = error.to_string();
        // A bias determines its layer's width, so that layer's tensor may be named instead.
        let named = error.contains(&name)
            || widths.contains(&name.as_str())
                && is_tensor(&sound, error.split(' ').next().unwrap_or_default());
        assert!(
            named && error.lines().count() == 1,
            "seed {seed}: {name} is damaged, and the error is: {error}"
        );
        if let Err(error) = FileCard::read(&bytes) {
            assert!(error.to_string().contains("philidor."), "seed {seed}: {error}");
        }
    }
}

#[test]
fn damaged_bytes_are_read_or_refused() {
    let sound = small_file();
    let mut refused = 0;
    for seed in 0..300 {
        let random = &mut SmallRng::seed_from_u64(seed);
        let mut bytes = sound.clone();
        // Half of the damage is at either end, where the structure is.
        let place = |random: &mut SmallRng| match random.random_range(0..4) {
            0 => random.random_range(0..200),
            1 => sound.len() - 1 - random.random_range(0..4000),
            _ => random.random_range(0..sound.len()),
        };
        for _ in 0..random.random_range(1..4) {
            let at = place(random).min(bytes.len() - 1);
            match random.random_range(0..5) {
                0 => bytes[at] ^= 1 << random.random_range(0..8),
                1 => bytes[at] = random.random(),
                2 => bytes.truncate(at.max(1)),
                3 => drop(bytes.splice(at..at, [random.random(), 0xff, 0xff, 0xff, 0x7f])),
                _ => drop(bytes.drain(at..(at + random.random_range(1..100)).min(bytes.len() - 1))),
            }
        }
        let errors = [
            SparseNetwork::read(&bytes).err().map(|error| error.to_string()),
            FileCard::read(&bytes).err().map(|error| error.to_string()),
        ];
        refused += usize::from(errors[0].is_some());
        for error in errors.iter().flatten() {
            assert!(!error.is_empty() && error.lines().count() == 1, "seed {seed}: {error:?}");
        }
    }
    assert!(refused > 150, "the damage is noticed: {refused} of 300");
}
