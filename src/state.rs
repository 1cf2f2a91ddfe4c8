//! A cell with one immutable value, which is replaced as a whole. Readers get a complete value, and nobody
//! waits for a poll. It keeps no history and sends no notification.

use std::sync::Arc;

use parking_lot::RwLock;

/// A value with many readers and one writer. Clones share the cell.
#[derive(Debug)]
pub(crate) struct Shared<T>(Arc<RwLock<Arc<T>>>);

impl<T> Shared<T> {
    /// A cell holding `value`.
    pub(crate) fn new(value: impl Into<Arc<T>>) -> Self {
        Self(Arc::new(RwLock::new(value.into())))
    }

    /// The present value. The returned one stays the same when the cell is set.
    pub(crate) fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read())
    }

    /// Replaces the value.
    pub(crate) fn set(&self, value: impl Into<Arc<T>>) {
        let value = value.into();
        let old = std::mem::replace(&mut *self.0.write(), value);
        // Freed after the lock is released: dropping a snapshot of 30,000 rows takes a while.
        drop(old);
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Default for Shared<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_keep_what_they_got() {
        let cell = Shared::<Vec<u8>>::new(vec![1]);
        let other = cell.clone();
        let before = cell.get();
        other.set(vec![2]);
        assert_eq!(*before, [1]);
        assert_eq!(*cell.get(), [2]);
        let ready: Arc<Vec<u8>> = Arc::new(vec![3]);
        cell.set(Arc::clone(&ready));
        assert!(Arc::ptr_eq(&cell.get(), &ready));
    }
}
