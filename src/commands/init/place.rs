//! The place of the configuration and its secrets. Existing files stay.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown,
};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

/// The package's own file. It may be replaced while nobody has changed it.
const SAMPLE: &str = include_str!("../../../packaging/hostwatch.toml");
/// The package's configuration file and its store.
const PACKAGED: (&str, &str) = ("/etc/hostwatch/hostwatch.toml", "/var/lib/hostwatch/hostwatch.db");

/// The place; see the module.
pub(super) struct Place {
    file: PathBuf,
}

impl Place {
    /// # Errors
    /// If there is a configuration already, or none can be written. It is better to know that before all
    /// questions.
    pub(super) fn of(file: &Path) -> Result<Self> {
        let place = Self { file: file.to_owned() };
        place.replaces_sample()?;
        let there = place.directory().ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
        let probe = draft(&there.join("probe"));
        File::create_new(&probe).and_then(|_| fs::remove_file(&probe)).with_context(|| {
            format!("{} cannot be written; run it as root: sudo hostwatch init", there.display())
        })?;
        Ok(place)
    }

    /// The store that the file has to name.
    pub(super) fn store(&self) -> Option<&'static str> {
        (self.file == Path::new(PACKAGED.0)).then_some(PACKAGED.1)
    }

    pub(super) fn credentials(&self) -> PathBuf {
        self.directory().join("credentials")
    }

    /// # Errors
    /// If the file of one of these secrets exists. The new configuration would read it, and the answer could not
    /// be written.
    pub(super) fn refuse_taken(&self, secrets: impl Iterator<Item = String>) -> Result<()> {
        let credentials = self.credentials();
        let files = secrets.map(|name| credentials.join(name));
        let found: Vec<PathBuf> = files.filter(|file| fs::symlink_metadata(file).is_ok()).collect();
        if found.is_empty() { Ok(()) } else { Err(taken(&found)) }
    }

    fn directory(&self) -> &Path {
        self.file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Whether the file is the packaged sample.
    fn replaces_sample(&self) -> Result<bool> {
        match fs::read_to_string(&self.file) {
            Ok(text) if text == SAMPLE => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Ok(_) => bail!(
                "{} is there already, and init overwrites nothing; change it by hand, or name another file with \
                 --config.file",
                self.file.display()
            ),
            Err(error) => Err(error).with_context(|| format!("reading {}", self.file.display())),
        }
    }

    /// Writes all files.
    ///
    /// # Errors
    /// If one of them exists already, or cannot be written; then none that this wrote stays.
    pub(super) fn write(&self, config: &str, secrets: &[(String, &str)]) -> Result<()> {
        let replaces_sample = self.replaces_sample()?;
        self.refuse_taken(secrets.iter().map(|(name, _)| name.clone()))?;
        let credentials = self.credentials();
        make_directory(self.directory(), 0o755)?;
        if !secrets.is_empty() {
            make_directory(&credentials, 0o700)?;
        }
        let mut written = Vec::new();
        let all = secrets.iter().try_for_each(|(name, secret)| {
            let path = credentials.join(name);
            write_new(&path, &format!("{secret}\n"), 0o600)?;
            written.push(path);
            Ok(())
        });
        // The file comes last: the other files are read only because of it.
        let all = all.and_then(|()| self.write_file(config, replaces_sample));
        if all.is_err() {
            // They would stand in the way of the next run.
            written.iter().for_each(|path| drop(fs::remove_file(path)));
        }
        all
    }

    fn write_file(&self, config: &str, replaces_sample: bool) -> Result<()> {
        if !replaces_sample {
            return write_new(&self.file, config, 0o644);
        }
        let draft = draft(&self.file);
        write_new(&draft, config, 0o644)?;
        let renamed = fs::rename(&draft, &self.file);
        if renamed.is_err() {
            let _ = fs::remove_file(&draft);
        }
        renamed.with_context(|| format!("writing {}", self.file.display()))
    }
}

fn taken(paths: &[PathBuf]) -> anyhow::Error {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let (are, them) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    anyhow!(
        "{} {are} there already, and init overwrites nothing; remove {them}, name another directory with --config.file, \
         or name the account otherwise with --account",
        names.join(", ")
    )
}

fn draft(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.init-{}", std::process::id()))
}

/// Makes a directory and its missing parents.
fn make_directory(path: &Path, mode: u32) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_directory(parent, 0o755)?;
    }
    let made = fs::DirBuilder::new().mode(mode).create(path);
    made.with_context(|| format!("creating the directory {}", path.display()))?;
    belongs_with_its_directory(path)
}

/// Writes a file that does not exist yet, whole or not at all: half a file would stand in the way of the next run, or
/// pass for a configuration.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<()> {
    let file = File::options().write(true).create_new(true).mode(mode).open(path);
    let mut file = match file {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(taken(&[path.to_owned()])),
        file => file.with_context(|| format!("writing {}", path.display()))?,
    };
    // The umask may have removed some of the permissions.
    let written = file.set_permissions(fs::Permissions::from_mode(mode));
    let written = written.and_then(|()| file.write_all(text.as_bytes())).and_then(|()| file.sync_all());
    let written = written.with_context(|| format!("writing {}", path.display()));
    let written = written.and_then(|()| belongs_with_its_directory(path));
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

/// If root writes into a user's directory, the file gets that owner, since the daemon of that user has to read
/// it.
fn belongs_with_its_directory(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (own, around) = (fs::metadata(path)?, fs::metadata(parent)?);
    if own.uid() == 0 && around.uid() != 0 {
        chown(path, Some(around.uid()), Some(around.gid()))
            .with_context(|| format!("giving {} to the owner of {}", path.display(), parent.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn a_name_that_is_taken_stops_all() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("deep/hostwatch.toml");
        let secrets = [("main.vm_api_key".to_owned(), "one"), ("smtp.password".to_owned(), "two")];
        let place = Place::of(&file).unwrap();
        let credentials = place.credentials();
        // Another file has the name of the second secret.
        fs::create_dir_all(&credentials).unwrap();
        fs::write(credentials.join("smtp.password"), "theirs").unwrap();
        let error = place.write("# config\n", &secrets).unwrap_err().to_string();
        assert!(error.contains("smtp.password is there already"), "{error}");
        assert_eq!((entries(&credentials), entries(&directory.path().join("deep"))), (1, 1));
        assert_eq!(fs::read_to_string(credentials.join("smtp.password")).unwrap(), "theirs");
        fs::write(credentials.join("main.vm_api_key"), "theirs").unwrap();
        let error = place.write("# config\n", &secrets).unwrap_err().to_string();
        assert!(error.contains("key, ") && error.contains("smtp.password are there already"), "{error}");
        fs::remove_dir_all(&credentials).unwrap();
        // The configuration cannot be written, after the secrets.
        std::os::unix::fs::symlink("nowhere", &file).unwrap();
        place.write("# config\n", &secrets).unwrap_err();
        assert_eq!(entries(&credentials), 0);
        fs::remove_dir_all(directory.path().join("deep")).unwrap();

        place.write("# config\n", &secrets).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&file), mode(&credentials)), (0o644, 0o700));
        assert_eq!(mode(&credentials.join("main.vm_api_key")), 0o600);
        assert_eq!(fs::read_to_string(credentials.join("main.vm_api_key")).unwrap(), "one\n");
        assert_eq!(entries(&credentials), 2);
        assert!(Place::of(&file).is_err(), "a configuration is there");
    }

    #[test]
    fn files_that_root_writes_belong_to_the_owner_of_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        if fs::metadata(directory.path()).unwrap().uid() != 0 {
            return; // only root can give files away
        }
        chown(directory.path(), Some(64_800), Some(64_801)).unwrap();
        let file = directory.path().join("hostwatch.toml");
        let place = Place::of(&file).unwrap();
        place.write("# config\n", &[("main.vm_api_key".to_owned(), "key")]).unwrap();
        for path in [&file, &place.credentials(), &place.credentials().join("main.vm_api_key")] {
            let of = fs::metadata(path).unwrap();
            assert_eq!((of.uid(), of.gid()), (64_800, 64_801), "{}", path.display());
        }
    }

    #[test]
    fn the_packaged_sample_may_be_replaced_until_somebody_changes_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hostwatch.toml");
        fs::write(&file, SAMPLE).unwrap();
        let place = Place::of(&file).unwrap();
        place.write("# ours\n", &[]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "# ours\n");
        assert_eq!(entries(directory.path()), 1);
        assert!(place.write("# again\n", &[]).unwrap_err().to_string().contains("overwrites nothing"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "# ours\n");
    }
}
