//! Linker settings of the plugin: a small shadow stack and a memory that has a maximum.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("wasm32") {
        return;
    }
    println!("cargo::rustc-link-arg-cdylib=-zstack-size=32768");
    println!("cargo::rustc-link-arg-cdylib=--max-memory=1073741824");
}
