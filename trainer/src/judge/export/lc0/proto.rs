//! Part of lc0's protobuf schema (`proto/net.proto` of <https://github.com/LeelaChessZero/lczero-common>), by `prost`'s
//! derive, so that a build needs no `protoc`.

use prost::Message;

/// Required value of [`ProtoNet::magic`].
pub const MAGIC: u32 = 0x1c0;

#[derive(Clone, PartialEq, Message)]
pub struct ProtoNet {
    #[prost(fixed32, optional, tag = "1")]
    pub magic: Option<u32>,
    #[prost(string, optional, tag = "2")]
    pub license: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub format: Option<ProtoFormat>,
    #[prost(message, optional, tag = "5")]
    pub training_params: Option<ProtoTrainingParams>,
    #[prost(message, optional, tag = "10")]
    pub weights: Option<ProtoWeights>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProtoFormat {
    /// Always 1 (16 bits, linear).
    #[prost(int32, optional, tag = "1")]
    pub weights_encoding: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub network_format: Option<ProtoNetworkFormat>,
}

/// Numbers are enum values of the schema.
#[derive(Clone, PartialEq, Message)]
pub struct ProtoNetworkFormat {
    /// 1 classical (112 planes).
    #[prost(int32, optional, tag = "1")]
    pub input: Option<i32>,
    /// 1 scalar, 2 WDL; equals `value`.
    #[prost(int32, optional, tag = "2")]
    pub output: Option<i32>,
    /// 1 classical, 2 squeeze-and-excitation; 3 and 4 likewise, with `policy` and `value` set.
    #[prost(int32, optional, tag = "3")]
    pub network: Option<i32>,
    /// 1 dense, 2 convolutional, 3 attention.
    #[prost(int32, optional, tag = "4")]
    pub policy: Option<i32>,
    /// 1 scalar, 2 WDL.
    #[prost(int32, optional, tag = "5")]
    pub value: Option<i32>,
    /// 0 ReLU, 1 Mish.
    #[prost(int32, optional, tag = "7")]
    pub default_activation: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProtoTrainingParams {
    #[prost(uint32, optional, tag = "1")]
    pub training_steps: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProtoWeights {
    #[prost(message, optional, tag = "1")]
    pub input: Option<ProtoConvBlock>,
    #[prost(message, repeated, tag = "2")]
    pub residual: Vec<ProtoResidual>,
    /// Last convolution of a convolutional policy head, only convolution of a dense head.
    #[prost(message, optional, tag = "3")]
    pub policy: Option<ProtoConvBlock>,
    #[prost(message, optional, tag = "4")]
    pub ip_pol_w: Option<ProtoLayer>,
    #[prost(message, optional, tag = "5")]
    pub ip_pol_b: Option<ProtoLayer>,
    #[prost(message, optional, tag = "6")]
    pub value: Option<ProtoConvBlock>,
    #[prost(message, optional, tag = "7")]
    pub ip1_val_w: Option<ProtoLayer>,
    #[prost(message, optional, tag = "8")]
    pub ip1_val_b: Option<ProtoLayer>,
    #[prost(message, optional, tag = "9")]
    pub ip2_val_w: Option<ProtoLayer>,
    #[prost(message, optional, tag = "10")]
    pub ip2_val_b: Option<ProtoLayer>,
    /// First convolution of a convolutional policy head.
    #[prost(message, optional, tag = "11")]
    pub policy1: Option<ProtoConvBlock>,
    /// Transformer layers, only counted, to refuse the file.
    #[prost(message, repeated, tag = "27")]
    pub encoder: Vec<ProtoIgnored>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProtoIgnored {}

#[derive(Clone, PartialEq, Message)]
pub struct ProtoResidual {
    #[prost(message, optional, tag = "1")]
    pub conv1: Option<ProtoConvBlock>,
    #[prost(message, optional, tag = "2")]
    pub conv2: Option<ProtoConvBlock>,
    #[prost(message, optional, tag = "3")]
    pub se: Option<ProtoSeUnit>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProtoConvBlock {
    #[prost(message, optional, tag = "1")]
    pub weights: Option<ProtoLayer>,
    #[prost(message, optional, tag = "2")]
    pub biases: Option<ProtoLayer>,
    #[prost(message, optional, tag = "3")]
    pub bn_means: Option<ProtoLayer>,
    /// Variances, despite the name.
    #[prost(message, optional, tag = "4")]
    pub bn_stddivs: Option<ProtoLayer>,
    #[prost(message, optional, tag = "5")]
    pub bn_gammas: Option<ProtoLayer>,
    #[prost(message, optional, tag = "6")]
    pub bn_betas: Option<ProtoLayer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProtoSeUnit {
    #[prost(message, optional, tag = "1")]
    pub w1: Option<ProtoLayer>,
    #[prost(message, optional, tag = "2")]
    pub b1: Option<ProtoLayer>,
    #[prost(message, optional, tag = "3")]
    pub w2: Option<ProtoLayer>,
    #[prost(message, optional, tag = "4")]
    pub b2: Option<ProtoLayer>,
}

/// A tensor, by default in 16 bits, linear between `min_val` and `max_val`.
#[derive(Clone, PartialEq, Message)]
pub struct ProtoLayer {
    #[prost(float, optional, tag = "1")]
    pub min_val: Option<f32>,
    #[prost(float, optional, tag = "2")]
    pub max_val: Option<f32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub params: Option<Vec<u8>>,
    /// 1 linear in 16 bits, 2 float16, 3 bfloat16, 4 float32.
    #[prost(int32, optional, tag = "4")]
    pub encoding: Option<i32>,
}
