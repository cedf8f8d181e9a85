//! The formats of the Gentoo ecosystem, read-only: names and versions, repositories and their masters,
//! profiles and USE, Portage's configuration, cached metadata, Manifests.
//!
//! Nothing here runs a shell, opens a connection or prints. "PMS" is the Package Manager Specification.

pub mod atom;
pub mod config;
pub mod cpv;
pub mod dependency;
pub mod depstring;
pub mod filters;
pub mod inherits;
pub mod layout;
pub mod manifest;
pub mod masters;
pub mod md5_cache;
pub mod metadata;
pub mod mirrors;
pub mod names;
pub mod near;
pub mod profile;
pub mod repo_config;
pub mod repos_conf;
pub mod repository;
pub mod restrict;
pub mod shown;
pub mod src_uri;
pub mod system;
pub mod targets;
pub mod text;
pub mod varfile;
pub mod version;
pub mod within;
