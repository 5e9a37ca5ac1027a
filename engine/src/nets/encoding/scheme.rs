use shakmaty::{Color, Move, Position};

use super::planes::write_all;
use super::{
    PolicyIndex, az4672, gym4672, lc0_112, lc0_1858, onehot832, planes14, planes19, planes72, planes119,
    uci1968,
};
use crate::chess::position::Game;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Planes72,
    Planes19,
    Planes14,
    Onehot832,
    Lc0112,
    Planes119,
}

impl Input {
    pub const ALL: [Input; 6] = [
        Input::Planes72,
        Input::Planes19,
        Input::Planes14,
        Input::Onehot832,
        Input::Lc0112,
        Input::Planes119,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Input::Planes72 => planes72::NAME,
            Input::Planes19 => planes19::NAME,
            Input::Planes14 => planes14::NAME,
            Input::Onehot832 => onehot832::NAME,
            Input::Lc0112 => lc0_112::NAME,
            Input::Planes119 => planes119::NAME,
        }
    }

    pub fn named(name: &str) -> Option<Input> {
        Input::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// Without the batch axis.
    pub const fn shape(self) -> &'static [usize] {
        match self {
            Input::Planes72 => &[planes72::PLANES, 8, 8],
            Input::Planes19 => &[planes19::PLANES, 8, 8],
            Input::Planes14 => &[planes14::PLANES, 8, 8],
            Input::Onehot832 => &[onehot832::INPUT_SIZE],
            Input::Lc0112 => &[lc0_112::PLANES, 8, 8],
            Input::Planes119 => &[planes119::PLANES, 8, 8],
        }
    }

    pub fn size(self) -> usize {
        self.shape().iter().product()
    }

    pub fn write(self, game: &Game, out: &mut [f32]) {
        match self {
            Input::Planes72 => planes72::encode(game).write(out),
            Input::Planes19 => write_all(&planes19::encode(game), out),
            Input::Planes14 => write_all(&planes14::encode(game), out),
            Input::Onehot832 => onehot832::write(&onehot832::encode(game), out),
            Input::Lc0112 => lc0_112::encode(game).write(out),
            Input::Planes119 => planes119::encode(game).write(out),
        }
    }

    /// Passes bit masks and scalars to `read`; both are equal if and only if the tensors are.
    pub fn read<T>(self, game: &Game, read: impl FnOnce(&[u64], &[f32]) -> T) -> T {
        match self {
            Input::Planes72 => {
                let planes = planes72::encode(game);
                read(&planes.masks, &planes.scalars)
            }
            Input::Planes19 => read(&planes19::encode(game), &[]),
            Input::Planes14 => read(&planes14::encode(game), &[]),
            Input::Onehot832 => read(&onehot832::encode(game), &[]),
            Input::Lc0112 => {
                let planes = lc0_112::encode(game);
                read(&planes.masks, &[planes.clock])
            }
            Input::Planes119 => {
                let planes = planes119::encode(game);
                read(&planes.masks, &planes.scalars)
            }
        }
    }

    pub fn tensor(self, games: &[Game]) -> Vec<f32> {
        let mut tensor = vec![0.0; games.len() * self.size()];
        games.iter().zip(tensor.chunks_exact_mut(self.size())).for_each(|(game, out)| self.write(game, out));
        tensor
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Az4672,
    Gym4672,
    Uci1968,
    Uci1968m,
    Lc01858,
}

impl Policy {
    pub const ALL: [Policy; 5] =
        [Policy::Az4672, Policy::Gym4672, Policy::Uci1968, Policy::Uci1968m, Policy::Lc01858];

    pub const fn name(self) -> &'static str {
        match self {
            Policy::Az4672 => az4672::NAME,
            Policy::Gym4672 => gym4672::NAME,
            Policy::Uci1968 => uci1968::NAME,
            Policy::Uci1968m => uci1968::MIRRORED,
            Policy::Lc01858 => lc0_1858::NAME,
        }
    }

    pub fn named(name: &str) -> Option<Policy> {
        Policy::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    pub const fn size(self) -> usize {
        match self {
            Policy::Az4672 => az4672::SIZE,
            Policy::Gym4672 => gym4672::SIZE,
            Policy::Uci1968 | Policy::Uci1968m => uci1968::SIZE,
            Policy::Lc01858 => lc0_1858::SIZE,
        }
    }

    pub fn index(self, turn: Color, m: Move) -> PolicyIndex {
        match self {
            Policy::Az4672 => az4672::index(turn, m),
            Policy::Gym4672 => gym4672::index(turn, m),
            Policy::Uci1968 => uci1968::index(m),
            Policy::Uci1968m => uci1968::index_mirrored(turn, m),
            Policy::Lc01858 => lc0_1858::index(turn, m),
        }
    }

    pub fn find(self, game: &Game, index: PolicyIndex) -> Option<Move> {
        let turn = game.position().turn();
        game.legal_moves().into_iter().find(|m| self.index(turn, *m) == index)
    }
}
