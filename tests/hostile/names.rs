//! Names with something in them, through everything that shows them.
