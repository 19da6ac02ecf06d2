//! A server on the loopback device from which git fetches: `git http-backend` behind a small web server.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

/// A request that a [`WebServer`] has answered.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "a failing test shows all of it")]
pub(crate) struct Request {
    /// Method and target, such as `GET /repo/info/refs?service=git-upload-pack`.
    pub(crate) line: String,
    /// How many bytes its body had, as sent.
    pub(crate) sent: usize,
    /// How many bytes the answer has, with its header.
    pub(crate) received: usize,
    pub(crate) status: u16,
}

/// A web server with the repositories below a directory. It stops when it is dropped.
pub(crate) struct WebServer {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    stops: Arc<AtomicBool>,
}

/// Returns the answer to a POST with this body, after so many requests.
pub(crate) type Forge = fn(&[u8], usize) -> Option<Vec<u8>>;

/// What a [`WebServer`] asks of its clients.
#[derive(Clone, Default)]
pub(crate) struct Asks {
    /// The value of the header `Authorization`; others get status 401.
    pub(crate) authorization: Option<String>,
    /// Answers as servers did that know the first version of the protocol only.
    pub(crate) is_old: bool,
    /// After how many bytes of an answer to a POST the connection is cut.
    pub(crate) cut_after: Option<usize>,
    /// What answers a POST in the place of git, after how many of them there were; none leaves it to git.
    pub(crate) forged: Option<Forge>,
}

impl WebServer {
    /// Serves the repositories below `root`, also to pushes.
    pub(crate) fn start(root: &Path, asks: Asks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let server = Self { port, requests: Arc::default(), stops: Arc::default() };
        let (requests, stops, root) = (Arc::clone(&server.requests), Arc::clone(&server.stops), root.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stops.load(Ordering::Relaxed) {
                    return;
                }
                let (requests, root, asks) = (Arc::clone(&requests), root.clone(), asks.clone());
                std::thread::spawn(move || {
                    let stream = stream.expect("a connection");
                    // A client may go away at any time.
                    let count = requests.lock().expect("no thread panics").len();
                    if let Some(request) = answer(&stream, &root, &asks, count) {
                        requests.lock().expect("no thread panics").push(request);
                    }
                    drop(stream.shutdown(Shutdown::Both));
                });
            }
        });
        server
    }

    /// Returns the URL of the repository `path` below the root.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Returns the requests since the last call.
    pub(crate) fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut *self.requests.lock().expect("no thread panics"))
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn answer(stream: &TcpStream, root: &Path, asks: &Asks, count: usize) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let body = if header("transfer-encoding") == Some("chunked") {
        chunked(&mut reader)?
    } else {
        let mut body = vec![0; header("content-length").map_or(0, |length| length.parse().expect("a number"))];
        reader.read_exact(&mut body).ok()?;
        body
    };
    let forged = asks.forged.filter(|_| method == "POST").and_then(|forged| forged(&body, count));
    let mut out = if let Some(forged) = forged {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\nContent-Length: {}\r\n\r\n",
            forged.len()
        );
        [head.as_bytes(), &forged].concat()
    } else if asks.authorization.as_deref().is_some_and(|value| header("authorization") != Some(value)) {
        b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Length: 0\r\n\r\n".to_vec()
    } else {
        let protocol = header("git-protocol").filter(|_| !asks.is_old);
        from_backend(
            root,
            &method,
            &target,
            &body,
            &[
                ("CONTENT_TYPE", header("content-type")),
                ("HTTP_CONTENT_ENCODING", header("content-encoding")),
                ("GIT_PROTOCOL", protocol),
                ("REMOTE_USER", header("authorization").map(|_| "user")),
            ],
        )
    };
    if let Some(limit) = asks.cut_after.filter(|_| method == "POST") {
        out.truncate(limit);
    }
    let status = std::str::from_utf8(out.get(9..12)?).ok()?.parse().ok()?;
    let mut stream = stream;
    stream.write_all(&out).ok()?;
    Some(Request { line: format!("{method} {target}"), sent: body.len(), received: out.len(), status })
}

fn chunked(reader: &mut impl std::io::BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let start = body.len();
        body.resize(start + length, 0);
        reader.read_exact(&mut body[start..]).ok()?;
        reader.read_line(&mut line).ok()?;
        if length == 0 {
            return Some(body);
        }
    }
}

/// Returns the whole answer of git-http-backend(1), as HTTP has it.
fn from_backend(root: &Path, method: &str, target: &str, body: &[u8], variables: &[(&str, Option<&str>)]) -> Vec<u8> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").expect("a path"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "http.receivepack")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_CONFIG_KEY_1", "safe.directory")
        .env("GIT_CONFIG_VALUE_1", "*")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_LENGTH", body.len().to_string())
        .envs(variables.iter().filter_map(|(name, value)| Some((name, (*value)?))));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git runs");
    let mut stdin = child.stdin.take().expect("piped");
    let body = body.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("written");
    let end = output.stdout.windows(4).position(|four| four == b"\r\n\r\n").map_or(output.stdout.len(), |end| end + 4);
    let (head, body) = output.stdout.split_at(end);
    let head = String::from_utf8_lossy(head);
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let others: String = head
        .lines()
        .filter(|line| !line.starts_with("Status: ") && !line.is_empty())
        .fold(String::new(), |text, line| text + line + "\r\n");
    let mut out = format!("HTTP/1.1 {status}\r\n{others}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    out.extend_from_slice(body);
    out
}
