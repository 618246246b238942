//! Gives the shared library a name of its own: programs then look for it by that name, not by the path it was linked from.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpalpate_c.so");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
