//! Access control: hosts, origins and the token.
//!
//! Without a token the server is bound to loopback and refuses a foreign `Host` (DNS rebinding) and a foreign `Origin`
//! (cross-site requests). With a token, token and `Origin` are checked.

use std::fmt;
use std::str::FromStr;

use axum::http::{HeaderMap, Method, Uri, header};

const COOKIE: &str = "philidor_studio";

#[derive(Clone, Debug)]
pub struct Access {
    pub port: u16,
    /// Set if the server listens beyond loopback.
    pub token: Option<String>,
    pub public: Option<PublicOrigin>,
}

/// Scheme and host of an address, without a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicOrigin {
    /// As browsers send it in `Origin`.
    text: String,
    /// As browsers send it in `Host`.
    host: String,
}

impl FromStr for PublicOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<PublicOrigin, String> {
        let wrong = || format!("\"{text}\" is no origin: write for example https://chess.example");
        let uri: Uri = text.trim_end_matches('/').parse().map_err(|_| wrong())?;
        let scheme =
            uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https")).ok_or_else(wrong)?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(wrong());
        }
        // Browsers omit the scheme's default port and write the host in lower case.
        let host = uri.authority().ok_or_else(wrong)?.as_str().to_ascii_lowercase();
        let port = if scheme == "https" { ":443" } else { ":80" };
        let host = host.strip_suffix(port).unwrap_or(&host).to_owned();
        if host.contains('@') {
            return Err(wrong());
        }
        Ok(PublicOrigin { text: format!("{scheme}://{host}"), host })
    }
}

impl fmt::Display for PublicOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    Host,
    Origin,
    Token,
    /// The token is in the address: move it to this cookie.
    SetCookie(String),
}

impl Denied {
    /// A sentence that says what to do.
    pub fn text(&self) -> &'static str {
        match self {
            Denied::Host => {
                "This server answers at http://localhost and http://127.0.0.1 with its port only. Behind a proxy, start \
                 it with --public-origin and the proxy's address."
            }
            Denied::Origin => {
                "This request comes from another site. Behind a proxy, start the studio with --public-origin and the \
                 proxy's address."
            }
            Denied::Token => "Open the address with ?token=… as the server printed it when it started.",
            Denied::SetCookie(_) => "Go to the start page.",
        }
    }
}

impl Access {
    pub fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Denied> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let host = text(header::HOST).ok_or(Denied::Host)?;
        let public = self.public.as_ref();
        let is_public = public.is_some_and(|public| public.host.eq_ignore_ascii_case(host));
        if self.token.is_none() && !is_public && !self.is_loopback(host) {
            return Err(Denied::Host);
        }
        // A proxy may forward its own host or ours.
        let is_own = |origin: &str| {
            origin == format!("http://{host}") || public.is_some_and(|public| public.text == origin)
        };
        if text(header::ORIGIN).is_some_and(|origin| !is_own(origin)) {
            return Err(Denied::Origin);
        }
        let from_elsewhere = matches!(
            text(header::HeaderName::from_static("sec-fetch-site")),
            Some("cross-site" | "same-site")
        );
        if from_elsewhere && method != Method::GET {
            return Err(Denied::Origin);
        }
        let Some(token) = &self.token else { return Ok(()) };
        if self.has_token(token, headers) {
            return Ok(());
        }
        match from_query(uri) {
            Some(given) if equal(given, token) => {
                Err(Denied::SetCookie(cookie(token, is_public && self.is_encrypted())))
            }
            _ => Err(Denied::Token),
        }
    }

    fn is_encrypted(&self) -> bool {
        self.public.as_ref().is_some_and(|public| public.text.starts_with("https:"))
    }

    fn is_loopback(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        port == Some(self.port) && matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    }

    fn has_token(&self, token: &str, headers: &HeaderMap) -> bool {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if bearer.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|given| equal(given, token)) {
            return true;
        }
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, given)| name == COOKIE && equal(given, token))
    }
}

fn from_query(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

fn cookie(token: &str, encrypted: bool) -> String {
    let secure = if encrypted { "; Secure" } else { "" };
    format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/{secure}")
}

/// Compares in constant time for texts of equal length.
fn equal(given: &str, token: &str) -> bool {
    let difference = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(token: Option<&str>, uri: &str, headers: &[(&'static str, &str)]) -> Result<(), Denied> {
        let access = Access { port: 8645, token: token.map(str::to_owned), public: None };
        checked(&access, uri, headers)
    }

    fn checked(access: &Access, uri: &str, headers: &[(&'static str, &str)]) -> Result<(), Denied> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        access.check(&Method::POST, &uri.parse().unwrap(), &map)
    }

    #[test]
    fn only_loopback_names_with_the_port_are_hosts() {
        for host in ["localhost:8645", "127.0.0.1:8645", "[::1]:8645"] {
            assert_eq!(check(None, "/", &[("host", host)]), Ok(()), "{host}");
        }
        for host in
            ["evil.example:8645", "localhost", "localhost:80", "127.0.0.1.evil.example:8645", "", "[::1]"]
        {
            assert_eq!(check(None, "/", &[("host", host)]), Err(Denied::Host), "{host}");
        }
        assert_eq!(check(None, "/", &[]), Err(Denied::Host));
    }

    #[test]
    fn requests_from_other_sites_are_refused() {
        let host = ("host", "localhost:8645");
        assert_eq!(check(None, "/", &[host, ("origin", "http://localhost:8645")]), Ok(()));
        for origin in ["http://evil.example", "null", "http://localhost:9999", "https://localhost:8645"] {
            assert_eq!(check(None, "/", &[host, ("origin", origin)]), Err(Denied::Origin), "{origin}");
        }
        assert_eq!(check(None, "/", &[host, ("sec-fetch-site", "cross-site")]), Err(Denied::Origin));
        assert_eq!(check(None, "/", &[host, ("sec-fetch-site", "same-origin")]), Ok(()));
    }

    #[test]
    fn a_token_is_asked_for_in_a_cookie_or_header_and_moves_out_of_the_address() {
        let token = Some("0123456789abcdef");
        let host = ("host", "192.168.0.7:8645");
        assert_eq!(check(token, "/", &[host]), Err(Denied::Token));
        assert_eq!(
            check(token, "/", &[host, ("cookie", "philidor_studio=0123456789abcdeX")]),
            Err(Denied::Token)
        );
        assert_eq!(check(token, "/", &[host, ("cookie", "a=b; philidor_studio=0123456789abcdef")]), Ok(()));
        assert_eq!(check(token, "/", &[host, ("authorization", "Bearer 0123456789abcdef")]), Ok(()));
        assert!(matches!(check(token, "/?token=0123456789abcdef", &[host]), Err(Denied::SetCookie(_))));
        assert_eq!(check(token, "/?token=0", &[host]), Err(Denied::Token));
    }

    #[test]
    fn a_proxy_is_let_through_under_its_origin_only() {
        let public = |text: &str| Some(text.parse().unwrap());
        let access = |text| Access { port: 8645, token: None, public: public(text) };
        let proxy = access("https://Chess.example:443/");
        let own = ("origin", "https://chess.example");
        // The proxy forwards its own host or ours.
        for host in ["chess.example", "127.0.0.1:8645"] {
            assert_eq!(checked(&proxy, "/", &[("host", host), own]), Ok(()), "{host}");
            for origin in ["https://evil.example", "http://chess.example:8080", "https://chess.example:444"] {
                let refused = checked(&proxy, "/", &[("host", host), ("origin", origin)]);
                assert_eq!(refused, Err(Denied::Origin), "{origin}");
            }
        }
        assert_eq!(checked(&proxy, "/", &[("host", "evil.example"), own]), Err(Denied::Host));
        let token = Access { token: Some("0123456789abcdef".into()), ..proxy };
        let host = ("host", "chess.example");
        let Err(Denied::SetCookie(cookie)) = checked(&token, "/?token=0123456789abcdef", &[host]) else {
            panic!("it moves into a cookie")
        };
        assert!(cookie.ends_with("; Secure"), "{cookie}");
        for wrong in
            ["chess.example", "ftp://chess.example", "https://chess.example/studio", "https://a@b", ""]
        {
            assert!(wrong.parse::<PublicOrigin>().is_err(), "{wrong}");
        }
    }
}
