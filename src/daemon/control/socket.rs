//! The control socket. It is in the runtime directory that systemd made, otherwise beside the store or where
//! the store would be. It serves what the web side serves, without TLS and passwords, and answers commands. The
//! daemon's own user, its group and root can open it.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use socket2::{Domain, SockAddr, Type};
use tokio::net::UnixListener;

use crate::http::Listener;

/// The number of connections that may wait to be accepted.
const BACKLOG: i32 = 16;

/// The socket's file. Dropping it removes the file, unless another socket took its place.
pub(crate) struct ControlSocket {
    path: PathBuf,
    /// Device and inode.
    place: (u64, u64),
}

/// The parents of the runtime directory and of the state directory, which systemd makes with the same name.
const RUNTIME: &str = "/run";
const STATE: &str = "/var/lib";
/// The name of both directories in the unit.
const DIRECTORY: &str = "hostwatch";
const IN_RUNTIME: &str = "control.sock";
/// The socket's owner and group may read and write, and nobody else.
const MODE: u32 = 0o660;

/// The socket of a daemon with this store and, if there is one, this runtime directory.
pub(crate) fn path(store: &Path, runtime: Option<&str>) -> PathBuf {
    // systemd separates several directories with colons; the first is ours.
    match runtime.and_then(|list| list.split(':').next()).filter(|first| !first.is_empty()) {
        Some(directory) => Path::new(directory).join(IN_RUNTIME),
        None => beside(store),
    }
}

/// `hostwatch.db.sock` beside `hostwatch.db`.
fn beside(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".sock");
    path.into()
}

/// The places in which the daemon of a store may have its socket, for commands that do not share the daemon's
/// environment. Without a store, the places of the packaged daemon.
pub(crate) fn places(store: Option<&Path>) -> Vec<PathBuf> {
    let packaged = Path::new(STATE).join(DIRECTORY).join("hostwatch.db");
    let store = store.unwrap_or(&packaged);
    // /var/lib/hostwatch/hostwatch.db belongs to the daemon with /run/hostwatch.
    let of_service = store.strip_prefix(STATE).ok().and_then(|path| path.components().next());
    let runtime = of_service.map(|name| Path::new(RUNTIME).join(name).join(IN_RUNTIME));
    [beside(store)].into_iter().chain(runtime).collect()
}

/// Opens the socket. The daemon works without it, so a failure is only logged.
pub(crate) fn open(path: &Path) -> Option<(ControlSocket, Listener)> {
    let opened = bind(path);
    opened.map_err(|error| tracing::warn!("no control socket: {}: {error:#}", path.display())).ok()
}

/// The longest path of a socket on Linux (unix(7)).
const LONGEST_PATH: usize = 107;

/// A path by which a socket can be bound or reached, however long its own is: through its open directory, which has to
/// stay open meanwhile.
pub(crate) fn short(path: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok((path.to_owned(), None));
    };
    if path.as_os_str().len() <= LONGEST_PATH {
        return Ok((path.to_owned(), None));
    }
    let directory = File::open(parent)?;
    let short = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok((short, Some(directory)))
}

fn bind(path: &Path) -> Result<(ControlSocket, Listener)> {
    let (short, _directory) = short(path).context("opening its directory")?;
    let address = SockAddr::unix(&short).context("the name is too long for a socket; shorten store.path")?;
    remove_stale(path, &short)?;
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None).context("making it")?;
    socket.bind(&address).context("binding it")?;
    let file = fs::symlink_metadata(path).context("looking at it")?;
    let control = ControlSocket { path: path.to_owned(), place: (file.dev(), file.ino()) };
    // Until it listens it refuses everybody.
    fs::set_permissions(path, Permissions::from_mode(MODE)).context("setting its mode")?;
    socket.listen(BACKLOG).context("listening on it")?;
    socket.set_nonblocking(true).context("listening on it")?;
    let listener = UnixListener::from_std(socket.into()).context("listening on it")?;
    Ok((control, listener.into()))
}

/// Removes a socket that nobody answers on, because its daemon was killed.
fn remove_stale(path: &Path, short: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).context("looking for an old one"),
        Ok(file) if !file.file_type().is_socket() => bail!("something else has that name; move it away"),
        Ok(_) => {}
    }
    match UnixStream::connect(short) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).context("removing an old one")
        }
        Err(error) => Err(error).context("trying whether another daemon answers there"),
        Ok(_) => bail!("another daemon answers there"),
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let same = fs::symlink_metadata(&self.path).is_ok_and(|file| (file.dev(), file.ino()) == self.place);
        if same {
            // A file that stays is stale from now on; the next daemon removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn commands_look_where_the_daemon_may_be() {
        let packaged = Path::new("/var/lib/hostwatch/hostwatch.db");
        let at = |store, runtime| path(store, runtime).display().to_string();
        assert_eq!(at(packaged, Some("/run/hostwatch:/run/x")), "/run/hostwatch/control.sock");
        assert_eq!(at(packaged, Some("")), "/var/lib/hostwatch/hostwatch.db.sock");
        let listed =
            |store| -> Vec<String> { places(store).iter().map(|path| path.display().to_string()).collect() };
        let both = ["/var/lib/hostwatch/hostwatch.db.sock", "/run/hostwatch/control.sock"];
        assert_eq!(listed(Some(packaged)), both);
        assert_eq!(listed(Some(Path::new("/srv/x.db"))), ["/srv/x.db.sock"]);
        assert_eq!(listed(None), both);
    }

    #[tokio::test]
    async fn it_is_open_to_owner_and_group_and_goes_with_the_daemon() {
        let directory = tempfile::tempdir().unwrap();
        let path = path(&directory.path().join("hostwatch.db"), None);
        let (control, listener) = open(&path).unwrap();
        assert_eq!(path, directory.path().join("hostwatch.db.sock"));
        assert_eq!(mode(&path), 0o660);
        assert!(bind(&path).err().unwrap().to_string().contains("another daemon answers"));
        assert!(path.exists(), "it was not touched");
        drop((control, listener));
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_stale_one_is_replaced_and_another_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.sock");
        let (control, listener) = bind(&path).unwrap();
        // A killed daemon leaves the socket like this.
        std::mem::forget(control);
        drop(listener);
        let (control, _listener) = bind(&path).unwrap();
        drop(control);

        fs::write(&path, "precious").unwrap();
        assert!(bind(&path).err().unwrap().to_string().contains("something else has that name"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[tokio::test]
    async fn a_socket_that_another_daemon_made_meanwhile_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.sock");
        let (control, _listener) = bind(&path).unwrap();
        // The file is kept, so that its inode is not given out again.
        fs::rename(&path, directory.path().join("old")).unwrap();
        let (_other, _other_listener) = bind(&path).unwrap();
        drop(control);
        assert!(path.exists());
    }

    #[tokio::test]
    async fn a_long_path_has_a_socket_and_a_name_that_is_too_long_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("x".repeat(60)).join("y".repeat(60));
        fs::create_dir_all(&deep).unwrap();
        let path = deep.join("hostwatch.db.sock");
        let (control, _listener) = bind(&path).unwrap();
        let (reached, _directory) = short(&path).unwrap();
        assert!(path.exists() && UnixStream::connect(reached).is_ok());
        assert!(bind(&path).err().unwrap().to_string().contains("another daemon answers"));
        drop(control);
        assert!(!path.exists());
        let path = directory.path().join("x".repeat(120));
        let error = format!("{:#}", bind(&path).err().unwrap());
        assert!(error.contains("too long for a socket; shorten store.path"), "{error}");
        assert!(open(&path).is_none());
    }
}
