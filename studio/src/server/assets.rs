use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

/// Debug builds read the folder `page` from disk, so that the page can be changed without a build.
#[derive(RustEmbed)]
#[folder = "page/"]
struct Page;

/// `""` is the start page.
pub fn serve(path: &str, headers: &HeaderMap) -> Response {
    let path = if path.is_empty() { "index.html" } else { path };
    let Some((file, kind)) = Page::get(path).zip(content_type(path)) else {
        return (StatusCode::NOT_FOUND, "There is no such page here.").into_response();
    };
    let hash = file.metadata.sha256_hash();
    let tag = format!("\"{}\"", hash[..12].iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    let head = [(header::ETAG, tag.clone()), (header::CONTENT_TYPE, kind.to_owned())];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, file.data.into_owned()).into_response()
}

/// The media type; `None` for files that are not for browsers.
fn content_type(path: &str) -> Option<&'static str> {
    match path.rsplit_once('.')?.1 {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}
