//! Stages what ships with the program but is not Python, for maturin to put into the wheel as
//! `l4strace/share/`: page templates and collectors. A checkout reads them from its top folder. And as
//! data of the environment, under `share/` of its prefix: the manual page and completions.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDERS: [&str; 2] = ["reports", "collectors"];
/// Left behind: by-products, and what only documents the folder.
const LEFT: [&str; 2] = ["__pycache__", "examples"];

/// Where each of the environment's data comes from, and where below its prefix it goes.
const DATA: [(&str, &str); 4] = [
    ("l4strace.1", "share/man/man1/l4strace.1"),
    ("docs/completion/l4strace.bash", "share/bash-completion/completions/l4strace"),
    ("docs/completion/_l4strace", "share/zsh/site-functions/_l4strace"),
    ("docs/completion/l4strace.fish", "share/fish/vendor_completions.d/l4strace.fish"),
];

fn main() -> io::Result<()> {
    let crate_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let (share, data) = (out.join("share"), out.join("data"));
    for staged in [&share, &data] {
        if staged.exists() {
            fs::remove_dir_all(staged)?;
        }
    }
    for (from, to) in DATA {
        let (source, target) = (crate_dir.join("../..").join(from), data.join(to));
        println!("cargo:rerun-if-changed={}", source.display());
        if source.is_file() {
            fs::create_dir_all(target.parent().expect("is below data"))?;
            fs::copy(source, target)?;
        }
    }
    for folder in FOLDERS {
        let source = crate_dir.join("../..").join(folder);
        println!("cargo:rerun-if-changed={}", source.display());
        // A crate that was taken out of its repository still builds.
        if source.is_dir() {
            stage(&source, &share.join(folder))?;
        }
    }
    Ok(())
}

fn stage(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if LEFT.iter().any(|left| name == *left) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            stage(&entry.path(), &to.join(name))?;
        } else {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}
