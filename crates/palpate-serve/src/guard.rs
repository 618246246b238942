//! Who may ask: the name a request calls us by, the page it comes from, and the token.
//!
//! A page of another site can make a browser send requests here, and a name of that site can be made to mean 127.0.0.1. Its
//! requests tell by `Host` and `Origin`, which pages cannot change.

use axum::http::{HeaderMap, StatusCode, Uri, header};

/// Name of the cookie that carries the token after the first request.
pub(crate) const COOKIE: &str = "palpate";

/// What is allowed.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Where we listen.
    pub(crate) port: u16,
    /// Needed with every request, where there is one.
    pub(crate) token: Option<String>,
}

/// Why a request is refused: a status and words.
pub(crate) type Refusal = (StatusCode, &'static str);

impl Guard {
    /// Whether a request may pass; true: it brought the token in its address, which becomes a cookie.
    ///
    /// # Errors
    /// The answer to a request that may not.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<bool, Refusal> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next().map(|h| h.to_str()), hosts.next()) {
            (Some(Ok(host)), None) => host,
            _ => return Err((StatusCode::BAD_REQUEST, "exactly one Host is needed\n")),
        };
        let fresh = match &self.token {
            // Without a token only names that mean this machine.
            None if !self.is_local(host) => {
                return Err((
                    StatusCode::MISDIRECTED_REQUEST,
                    "this is not that host; use http://127.0.0.1 with the port\n",
                ));
            }
            None => false,
            Some(token) => self.token_of(token, uri, headers)?,
        };
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next().map(|o| o.to_str()), origins.next()) {
            // Programs send none, and so do browsers when a page is opened.
            (None, _) => Ok(fresh),
            (Some(Ok(origin)), None) if origin.strip_prefix("http://").is_some_and(|o| same(o, host)) => {
                Ok(fresh)
            }
            _ => Err((StatusCode::FORBIDDEN, "requests of other pages are refused\n")),
        }
    }

    /// Whether a name means this machine and our port.
    fn is_local(&self, host: &str) -> bool {
        let local = ["127.0.0.1", "localhost", "[::1]"];
        local.iter().any(|name| {
            let rest =
                host.get(..name.len()).filter(|h| h.eq_ignore_ascii_case(name)).map(|_| &host[name.len()..]);
            match rest {
                Some("") => self.port == 80,
                Some(rest) => rest.strip_prefix(':').and_then(|p| p.parse().ok()) == Some(self.port),
                None => false,
            }
        })
    }

    /// Whether the token is there; true: in the address.
    fn token_of(&self, token: &str, uri: &Uri, headers: &HeaderMap) -> Result<bool, Refusal> {
        let query = uri.query().unwrap_or("").split('&').filter_map(|p| p.strip_prefix("token="));
        if query.into_iter().any(|t| equal(t, token)) {
            return Ok(true);
        }
        let bearer = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
        let bearer = bearer.and_then(|v| v.strip_prefix("Bearer "));
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
        let cookies = cookies.flat_map(|v| v.split(';')).filter_map(|c| c.trim().split_once('='));
        let mut cookie = cookies.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value);
        if bearer.is_some_and(|t| equal(t, token)) || cookie.any(|t| equal(t, token)) {
            Ok(false)
        } else {
            Err((
                StatusCode::UNAUTHORIZED,
                "a token is needed: open the address that `palpate serve` printed\n",
            ))
        }
    }
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// Whether two tokens are equal, in a time that does not tell where they differ.
fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let differ = a.iter().zip(b).fold(a.len() ^ b.len(), |d, (x, y)| d | usize::from(x ^ y));
    differ == 0
}

/// Whether a token can stand in an address and a cookie, and is long enough not to be guessed.
pub(crate) fn is_token(token: &str) -> bool {
    token.len() >= 12
        && token.len() <= 200
        && token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in list {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    fn code(guard: &Guard, uri: &'static str, list: &[(&'static str, &'static str)]) -> u16 {
        guard.check(&Uri::from_static(uri), &headers(list)).map_or_else(|e| e.0.as_u16(), |_| 200)
    }

    #[test]
    fn only_this_machine_and_its_own_page() {
        let g = Guard { port: 8770, token: None };
        assert_eq!(code(&g, "/", &[("host", "127.0.0.1:8770")]), 200);
        assert_eq!(code(&g, "/", &[("host", "LocalHost:8770"), ("origin", "http://localhost:8770")]), 200);
        assert_eq!(code(&g, "/", &[("host", "[::1]:8770")]), 200);
        for host in [
            "evil.example:8770",
            "127.0.0.1:8771",
            "127.0.0.1",
            "127.0.0.1.evil.example:8770",
            "",
            "127.0.0.1:8770:1",
        ] {
            assert_eq!(code(&g, "/", &[("host", host)]), 421, "{host}");
        }
        assert_eq!(code(&g, "/", &[]), 400);
        assert_eq!(code(&g, "/", &[("host", "127.0.0.1:8770"), ("host", "127.0.0.1:8770")]), 400);
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:8770",
            "http://localhost:8770",
            "http://127.0.0.1:1",
            "",
        ] {
            assert_eq!(code(&g, "/", &[("host", "127.0.0.1:8770"), ("origin", origin)]), 403, "{origin}");
        }
    }

    #[test]
    fn a_token_is_needed_with_every_request() {
        let g = Guard { port: 1, token: Some("abcdefghijkl".into()) };
        assert_eq!(code(&g, "/", &[("host", "box:1")]), 401);
        assert_eq!(code(&g, "/?token=abcdefghijkm", &[("host", "box:1")]), 401);
        assert_eq!(code(&g, "/?token=abcdefghijkl", &[("host", "box:1")]), 200);
        assert_eq!(code(&g, "/", &[("host", "box:1"), ("cookie", "x=1; palpate=abcdefghijkl")]), 200);
        assert_eq!(code(&g, "/", &[("host", "box:1"), ("authorization", "Bearer abcdefghijkl")]), 200);
        let foreign =
            [("host", "box:1"), ("cookie", "palpate=abcdefghijkl"), ("origin", "http://evil.example")];
        assert_eq!(code(&g, "/", &foreign), 403);
        assert!(
            is_token("abcdefghijkl")
                && !is_token("short")
                && !is_token("abcdefghijk&")
                && !is_token("abcdefghijk;")
        );
    }
}
