//! The tests of timing, in one program: it is linked once, and its tests share the processors.

mod cli;
mod common;
mod config;
mod correlate;
mod damage;
mod explore;
mod provenance;
mod report;
mod reproduce;
mod rfc;
mod scope;
mod sweep;
mod views;
mod why;
