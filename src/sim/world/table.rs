//! Rows in the order of their ids: a page is a slice, and a look-up a binary search. Rows keep their order.

/// A row with an id.
pub trait Keyed {
    fn id(&self) -> u64;
}

/// Rows sorted by id; new ids only grow.
#[derive(Debug, Clone)]
pub struct Table<T> {
    /// The name of a row in a refusal.
    pub what: &'static str,
    rows: Vec<T>,
    next: u64,
}

impl<T: Keyed> Table<T> {
    /// An empty table whose first row will be `first`.
    pub fn starting_at(what: &'static str, first: u64) -> Table<T> {
        Table { what, rows: Vec::new(), next: first }
    }

    /// The id of the next row.
    pub fn fresh_id(&self) -> u64 {
        self.next
    }

    /// Appends a row that carries `fresh_id`.
    pub fn push(&mut self, row: T) -> u64 {
        let id = row.id();
        debug_assert!(id >= self.next, "ids only grow");
        self.next = id + 1;
        self.rows.push(row);
        id
    }

    fn index(&self, id: u64) -> Option<usize> {
        self.rows.binary_search_by_key(&id, Keyed::id).ok()
    }

    pub fn get(&self, id: u64) -> Option<&T> {
        self.index(id).map(|i| &self.rows[i])
    }

    pub fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        self.index(id).map(|i| &mut self.rows[i])
    }

    pub fn remove(&mut self, id: u64) -> Option<T> {
        self.index(id).map(|i| self.rows.remove(i))
    }

    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    pub fn ids(&self) -> Vec<u64> {
        self.rows.iter().map(Keyed::id).collect()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }
}
