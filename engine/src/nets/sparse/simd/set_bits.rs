//! A table for instruction sets that gather bytes by their places.

/// The places of the set bits of a number below 16, then zeros.
#[derive(Clone, Copy)]
pub(super) struct SetBits {
    pub lanes: [u32; 4],
    /// Those of the lanes' bytes.
    pub bytes: [[u8; 4]; 4],
    pub count: u32,
}

pub(super) static SET_BITS: [SetBits; 16] = {
    let mut all = [SetBits { lanes: [0; 4], bytes: [[0, 1, 2, 3]; 4], count: 0 }; 16];
    let mut number = 0;
    while number < 16 {
        let SetBits { lanes, bytes, count } = &mut all[number];
        let mut bit = 0;
        while bit < 4 {
            if number >> bit & 1 == 1 {
                let byte = 4 * bit as u8;
                lanes[*count as usize] = bit;
                bytes[*count as usize] = [byte, byte + 1, byte + 2, byte + 3];
                *count += 1;
            }
            bit += 1;
        }
        number += 1;
    }
    all
};
