// The applications of the fleet: what is known, and which of them are shown in which order. It touches no element.

// STATES in the order of their urgency.
export const STATES = ['notReady', 'waiting', 'progressing', 'suspended', 'ready'];

export const STATE_NAMES = {
  notReady: 'Not ready', progressing: 'In progress', waiting: 'Waiting', suspended: 'Suspended', ready: 'Ready',
};

const text = (row) => `${row.namespace}/${row.name} ${row.reason ?? ''} ${row.message ?? ''} ${row.image ?? ''} ${row.config ?? ''}`.toLowerCase();

const byName = (a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name);
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// Columns that the viewer can sort by: each returns the value to compare.
export const SORTS = {
  state: (row) => row.order,
  name: (row) => row.name,
  namespace: (row) => row.namespace,
  ready: (row) => (row.replicas ? row.ready / row.replicas : 1),
  image: (row) => row.image ?? '',
  revision: (row) => row.revision ?? 0,
  config: (row) => row.config ?? '',
  expires: (row) => row.expires ?? '9',
  age: (row) => row.created,
};

// Fleet holds rows by their keys.
export class Fleet {
  constructor() {
    this.rows = new Map();
    this.complete = false;
    this.generation = 0;
  }

  // begin starts a new connection: rows that it does not bring are gone.
  begin() {
    this.generation++;
  }

  // take takes a line of the stream, and returns the keys of the rows that changed.
  take(update) {
    const changed = [];
    for (const row of update.rows ?? []) {
      row.key = `${row.namespace}/${row.name}`;
      row.text = text(row);
      // One comparison of texts sorts by state and name: the order of a large fleet is computed often.
      row.order = `${STATES.indexOf(row.state)} ${row.key}`;
      row.generation = this.generation;
      this.rows.set(row.key, row);
      changed.push(row.key);
    }
    for (const key of update.gone ?? []) this.rows.delete(key);
    if (update.synced) this.sync();
    return changed;
  }

  sync() {
    this.complete = true;
    for (const [key, row] of this.rows) if (row.generation !== this.generation) this.rows.delete(key);
    for (const row of this.rows.values()) row.generation = this.generation;
  }

  // counts returns the number of rows of each state.
  counts() {
    const counts = Object.fromEntries(STATES.map((state) => [state, 0]));
    for (const row of this.rows.values()) counts[row.state]++;
    return counts;
  }

  // select returns the rows with all words, of a state if one is given, in order.
  select({search = '', state = '', sort = 'state', descending = false}) {
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    for (const row of this.rows.values()) {
      if (state && row.state !== state) continue;
      if (words.every((word) => row.text.includes(word))) found.push(row);
    }
    const value = SORTS[sort];
    const sign = descending ? -1 : 1;
    return found.sort((a, b) => sign * compare(value(a), value(b)) || byName(a, b));
  }
}
