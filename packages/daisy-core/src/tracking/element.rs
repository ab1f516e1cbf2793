//! The types of cells.

use serde_json::Value;

/// The type of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// `uint8`
    UInt8,
    /// `uint16`
    UInt16,
    /// `uint64`
    UInt64,
    /// `float32`
    Float32,
}

impl Element {
    /// Bytes of a cell.
    pub(super) const fn bytes(self) -> u64 {
        match self {
            Self::UInt8 => 1,
            Self::UInt16 => 2,
            Self::UInt64 => 8,
            Self::Float32 => 4,
        }
    }

    /// What Zarr calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt64 => "uint64",
            Self::Float32 => "float32",
        }
    }

    /// A cell that nobody wrote: zero, or NaN.
    pub(super) fn unwritten(self) -> Vec<u8> {
        match self {
            Self::Float32 => f32::NAN.to_le_bytes().to_vec(),
            _ => vec![0; self.bytes() as usize],
        }
    }

    /// A fill value as a cell.
    pub(super) fn parse(self, value: &Value) -> Option<Vec<u8>> {
        Some(match self {
            Self::UInt8 => u8::try_from(value.as_u64()?).ok()?.to_le_bytes().to_vec(),
            Self::UInt16 => u16::try_from(value.as_u64()?).ok()?.to_le_bytes().to_vec(),
            Self::UInt64 => value.as_u64()?.to_le_bytes().to_vec(),
            Self::Float32 if value.as_str() == Some("NaN") => f32::NAN.to_le_bytes().to_vec(),
            Self::Float32 => (value.as_f64()? as f32).to_le_bytes().to_vec(),
        })
    }
}
