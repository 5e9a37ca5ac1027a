use super::writer::LayerWriter;
use crate::judge::export::graph::GraphValue;
use crate::learn::torch::families::trm::{PLANES, SQUARES, TransformerLayer, Trm};

struct RecurrentState {
    /// Answer token, `[batch, 1, width]`.
    y: GraphValue,
    /// Latent tokens of the squares, `[batch, 64, width]`; `None` is zeros.
    z: Option<GraphValue>,
}

/// Inputs `y` and `z`, outputs `y_out` and `z_out`. Returns policy and WDL logits.
pub fn core(writer: &mut LayerWriter<'_>, net: &Trm, input: &GraphValue) -> [GraphValue; 2] {
    let width = net.config.width;
    let y = writer.graph.input("y", &[1, width]);
    let z = writer.graph.input("z", &[SQUARES, width]);
    let squares = embedded(writer, net, input);
    let state = step(writer, net, &squares, &RecurrentState { y, z: Some(z) });
    writer.graph.output("y_out", &state.y, &[1, width]);
    writer.graph.output("z_out", state.z.as_ref().expect("a step sets z"), &[SQUARES, width]);
    heads(writer, net, &state)
}

pub fn unrolled(writer: &mut LayerWriter<'_>, net: &Trm, input: &GraphValue) -> [GraphValue; 2] {
    let squares = embedded(writer, net, input);
    let first = writer.param(net.first_answer);
    let y = writer.graph.repeat_for_batch(input, &first, &[1, net.config.width]);
    let mut state = RecurrentState { y, z: None };
    for _ in 0..net.config.steps {
        state = step(writer, net, &squares, &state);
    }
    heads(writer, net, &state)
}

/// Embedded planes plus positional embeddings, `[batch, 64, width]`.
fn embedded(writer: &mut LayerWriter<'_>, net: &Trm, input: &GraphValue) -> GraphValue {
    let planes = writer.graph.reshape(input, &[PLANES, SQUARES]);
    let squares = writer.graph.transpose(&planes, &[0, 2, 1]);
    let content = writer.linear_on_tokens(&squares, &net.embed);
    let positions = writer.param(net.positions);
    writer.graph.add(&content, &positions)
}

fn step(
    writer: &mut LayerWriter<'_>,
    net: &Trm,
    squares: &GraphValue,
    state: &RecurrentState,
) -> RecurrentState {
    let board = match &state.z {
        Some(z) => writer.graph.add(squares, z),
        None => squares.clone(),
    };
    let mut tokens = writer.graph.concat(&[&state.y, &board], 1);
    for part in &net.layers {
        tokens = layer(writer, part, &tokens);
    }
    let tokens = writer.layer_norm(&tokens, &net.norm);
    let y = writer.graph.select(&tokens, 1, &[0]);
    let proposed = writer.graph.select(&tokens, 1, &(1..=SQUARES).collect::<Vec<_>>());
    let gate = writer.linear_on_tokens(&proposed, &net.gate);
    let gate = writer.graph.sigmoid(&gate);
    let z = match &state.z {
        Some(z) => {
            let change = writer.graph.sub(&proposed, z);
            let change = writer.graph.mul(&gate, &change);
            writer.graph.add(z, &change)
        }
        None => writer.graph.mul(&gate, &proposed),
    };
    RecurrentState { y, z: Some(z) }
}

fn layer(writer: &mut LayerWriter<'_>, layer: &TransformerLayer, tokens: &GraphValue) -> GraphValue {
    let added = writer.attention(tokens, SQUARES + 1, &layer.attention);
    let tokens = writer.graph.add(tokens, &added);
    let normed = writer.layer_norm(&tokens, &layer.norm);
    let hidden = writer.linear_on_tokens(&normed, &layer.hidden);
    let hidden = writer.graph.gelu(&hidden);
    let added = writer.linear_on_tokens(&hidden, &layer.out);
    writer.graph.add(&tokens, &added)
}

fn heads(writer: &mut LayerWriter<'_>, net: &Trm, state: &RecurrentState) -> [GraphValue; 2] {
    let y = writer.graph.reshape(&state.y, &[net.config.width]);
    let wdl = writer.linear(&y, &net.wdl);
    let y = net.policy_basis.iter().fold(y, |y, basis| writer.linear(&y, basis));
    [writer.linear(&y, &net.policy), wdl]
}
