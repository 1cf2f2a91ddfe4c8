//! Clocks of a daemon under test, moved from outside: days pass in an instant, and the wall clock can be set.
//! The work is in clock.c, which is compiled once and preloaded. Linux alone.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use chrono::{DateTime, Duration, Utc};
use tempfile::TempDir;

/// The clocks of the daemons that it is given to.
pub struct Clock {
    directory: TempDir,
    file: File,
    gone: Duration,
    set: Duration,
}

impl Clock {
    /// Both clocks are this machine's until they are moved.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create_new(directory.path().join("clock")).unwrap();
        let clock = Self { directory, file, gone: Duration::zero(), set: Duration::zero() };
        clock.write();
        clock
    }

    /// The environment of a daemon that uses it.
    pub fn environment(&self) -> [(&'static str, String); 2] {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        [("LD_PRELOAD", text(library())), ("MOVED_CLOCK", text(&self.directory.path().join("clock")))]
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.gone += time;
        self.write();
    }

    /// Sets the wall clock, ahead or back.
    pub fn set(&mut self, by: Duration) {
        self.set += by;
        self.write();
    }

    /// The wall clock of its daemons.
    pub fn now(&self) -> DateTime<Utc> {
        super::now() + self.gone + self.set
    }

    fn write(&self) {
        let nanoseconds = |time: Duration| time.num_nanoseconds().unwrap().to_ne_bytes();
        self.file.write_all_at(&nanoseconds(self.gone), 0).unwrap();
        self.file.write_all_at(&nanoseconds(self.set), 8).unwrap();
    }
}

/// clock.c, compiled, among what cargo keeps for tests.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (path, draft) =
            (scratch.join("clock.so"), scratch.join(format!("clock-{}.so", std::process::id())));
        let source = super::tools::root().join("tests/common/clock.c");
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&draft).arg(source).status();
        assert!(compiled.unwrap().success(), "cc cannot compile tests/common/clock.c");
        // Other tests may be loading it.
        std::fs::rename(draft, &path).unwrap();
        path
    })
}
