//! SM timing model, techniques and limit studies.
