//! Stages what ships with the program but is not Python, for maturin to put into the wheel as
//! `l4strace/share/`: page templates and collectors. A checkout reads them from its top folder.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDERS: [&str; 2] = ["reports", "collectors"];
/// Left behind: by-products, and what only documents the folder.
const LEFT: [&str; 2] = ["__pycache__", "examples"];

fn main() -> io::Result<()> {
    let crate_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let share = out.join("share");
    if share.exists() {
        fs::remove_dir_all(&share)?;
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
