//! The `zarr.json` of arrays: what is written, and what is understood.

use serde_json::{Value, json};

use super::element::Element;
use crate::error::{Error, ErrorKind, Result};

/// What a reader must know of an array.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ArrayMetadata {
    pub(super) shape: Vec<u64>,
    pub(super) chunk: Vec<u64>,
    pub(super) element: Element,
    /// One cell as it is where nothing was written.
    pub(super) fill: Vec<u8>,
    /// How the folders of a chunk are separated, and whether `c` comes first.
    pub(super) keys: ChunkKeys,
}

/// How the key of a chunk is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkKeys {
    pub(super) separator: char,
    pub(super) prefixed: bool,
}

impl ChunkKeys {
    /// The key of the chunk at this position.
    pub(super) fn key(self, position: &[u64]) -> String {
        let numbers: Vec<String> = position.iter().map(u64::to_string).collect();
        let numbers = numbers.join(&self.separator.to_string());
        if self.prefixed { format!("c{}{numbers}", self.separator) } else { numbers }
    }
}

impl ArrayMetadata {
    /// An array of ours: uncompressed, little endian, `c/0/0`.
    pub(super) fn ours(shape: &[u64], chunk: Vec<u64>, element: Element) -> Self {
        Self {
            shape: shape.to_vec(),
            chunk,
            element,
            fill: element.unwritten(),
            keys: ChunkKeys { separator: '/', prefixed: true },
        }
    }

    /// The document of an array of ours.
    pub(super) fn to_json(&self) -> Value {
        let codec = if self.element.bytes() == 1 {
            json!({"name": "bytes"})
        } else {
            json!({"name": "bytes", "configuration": {"endian": "little"}})
        };
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": self.element.name(),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.chunk}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": if self.element == Element::Float32 { json!("NaN") } else { json!(0) },
            "codecs": [codec],
            "attributes": {},
        })
    }

    /// Reads a document, ours or that of an array made by a user.
    ///
    /// # Errors
    /// `Store` for whatever daisy could not read and write truthfully: compression, shards, other types.
    pub(super) fn parse(document: &Value, element: Element) -> Result<Self> {
        expect(document, "/zarr_format", "zarr_format", |value| value == &json!(3), "3")?;
        expect(document, "/node_type", "node_type", |value| value == &json!("array"), "\"array\"")?;
        expect(document, "/data_type", "data_type", |value| value == &json!(element.name()), element.name())?;
        expect(
            document,
            "/chunk_grid/name",
            "chunk grid",
            |value| value == &json!("regular"),
            "\"regular\"",
        )?;
        expect(
            document,
            "/codecs",
            "codecs",
            |value| is_plain(value, element),
            "only `bytes`, little endian",
        )?;
        let transformed = document.get("storage_transformers").and_then(Value::as_array);
        if transformed.is_some_and(|list| !list.is_empty()) {
            return Err(unusable("storage_transformers", "some", "none"));
        }
        let chunk = sizes(document, "/chunk_grid/configuration/chunk_shape")?;
        let shape = sizes(document, "/shape")?;
        if chunk.len() != shape.len() || chunk.contains(&0) {
            return Err(unusable("chunk_shape", &format!("{chunk:?}"), "one size of at least 1 per axis"));
        }
        let fill = document.get("fill_value").and_then(|value| element.parse(value)).ok_or_else(|| {
            unusable("fill_value", &show(document.get("fill_value")), &format!("a {}", element.name()))
        })?;
        Ok(Self { shape, chunk, element, fill, keys: chunk_keys(document)? })
    }
}

fn chunk_keys(document: &Value) -> Result<ChunkKeys> {
    let encoding = document.get("chunk_key_encoding").unwrap_or(&Value::Null);
    let prefixed = match encoding.get("name").and_then(Value::as_str) {
        Some("default") => true,
        Some("v2") => false,
        _ => return Err(unusable("chunk_key_encoding", &show(Some(encoding)), "\"default\" or \"v2\"")),
    };
    let usual = if prefixed { "/" } else { "." };
    match encoding.pointer("/configuration/separator").map_or(Some(usual), Value::as_str) {
        Some("/") => Ok(ChunkKeys { separator: '/', prefixed }),
        Some(".") => Ok(ChunkKeys { separator: '.', prefixed }),
        other => Err(unusable("separator", &format!("{other:?}"), "\"/\" or \".\"")),
    }
}

fn is_plain(codecs: &Value, element: Element) -> bool {
    let Some([codec]) = codecs.as_array().map(Vec::as_slice) else { return false };
    // A codec without configuration may be spelled as its name alone.
    let name = codec.as_str().or_else(|| codec.get("name").and_then(Value::as_str));
    let endian = codec.pointer("/configuration/endian").and_then(Value::as_str);
    name == Some("bytes") && (element.bytes() == 1 || endian == Some("little"))
}

fn sizes(document: &Value, pointer: &'static str) -> Result<Vec<u64>> {
    let value = document.pointer(pointer);
    value
        .and_then(Value::as_array)
        .and_then(|list| list.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>())
        .ok_or_else(|| unusable(pointer, &show(value), "a list of sizes"))
}

fn expect(
    document: &Value,
    pointer: &str,
    name: &'static str,
    holds: impl Fn(&Value) -> bool,
    expected: &str,
) -> Result<()> {
    match document.pointer(pointer) {
        Some(value) if holds(value) => Ok(()),
        other => Err(unusable(name, &show(other), expected)),
    }
}

fn show(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

fn unusable(what: &'static str, got: &str, expected: &str) -> Error {
    Error::new(ErrorKind::Store, format!("an array of the tracking store has an unusable {what}"))
        .with_context("got", got)
        .with_context("expected", expected)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_understood() {
        for element in [Element::UInt8, Element::UInt16, Element::UInt64, Element::Float32] {
            let metadata = ArrayMetadata::ours(&[7, 3], vec![2, 3], element);
            assert_eq!(ArrayMetadata::parse(&metadata.to_json(), element).unwrap(), metadata);
        }
    }

    #[test]
    fn what_cannot_be_written_truthfully_is_refused() {
        let good = ArrayMetadata::ours(&[7], vec![2], Element::UInt8).to_json();
        for (pointer, value) in [
            ("/codecs", json!([{"name": "bytes"}, {"name": "zstd"}])),
            ("/codecs", json!([{"name": "sharding_indexed"}])),
            ("/data_type", json!("bool")),
            ("/chunk_grid/name", json!("rectilinear")),
            ("/chunk_grid/configuration/chunk_shape", json!([0])),
            ("/fill_value", json!("0x01")),
            ("/shape", json!([-1])),
            ("/node_type", json!("group")),
        ] {
            let mut document = good.clone();
            *document.pointer_mut(pointer).unwrap() = value;
            let error = ArrayMetadata::parse(&document, Element::UInt8).unwrap_err().to_string();
            assert!(error.contains("got: ") && error.contains("expected: "), "{pointer}: {error}");
        }
    }

    #[test]
    fn keys_are_spelled_as_the_array_says() {
        let keys = |separator, prefixed| ChunkKeys { separator, prefixed }.key(&[1, 0]);
        assert_eq!([keys('/', true), keys('.', true), keys('.', false)], ["c/1/0", "c.1.0", "1.0"]);
    }
}
