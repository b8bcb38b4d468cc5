// The view of all applications.
import {h, replace} from './dom.js';
import {Fleet, STATES, STATE_NAMES} from './fleetmodel.js';
import {Grid} from './grid.js';
import {fillRow} from './fleetrow.js';
import {showNamespace} from './namespace.js';
import {applicationPath} from './paths.js';
import {setNamespace} from './session.js';
import {Stream} from './stream.js';

const COLUMNS = [
  ['name', 'Application'], ['ready', 'Ready'], ['state', 'State'], ['image', 'Image'], ['revision', 'Rev.'], ['config', 'Configuration'],
  ['expires', 'Certificate'], ['age', 'Age'],
];
const NARROW = matchMedia('(max-width: 760px)');
const rowHeight = () => (NARROW.matches ? 76 : 40);

// How long the page collects rows before it shows more of them, in milliseconds, until all have arrived.
const LOADING_PAUSE = 400;

// What the viewer has chosen stays while the page is open.
const chosen = {search: '', state: '', sort: 'state', descending: false, namespace: undefined};

// showFleet shows the applications, and returns a function that ends the view.
export function showFleet(main, shared) {
  return new FleetView(main, shared).start();
}

class FleetView {
  constructor(main, shared) {
    Object.assign(this, {main, shared, fleet: new Fleet(), namespaces: new Set()});
    if (chosen.namespace === undefined) chosen.namespace = shared.settings.oneNamespace ? shared.settings.namespace : '';
  }

  start() {
    document.title = 'Applications – nginx console';
    this.grid = new Grid({
      label: 'Applications', height: rowHeight, render: fillRow,
      open: (row) => { location.hash = applicationPath(row.namespace, row.name); },
    });
    this.search = h('input', {
      type: 'search', class: 'search', placeholder: 'Search name, image, message …', 'aria-label': 'Search applications', 'aria-keyshortcuts': '/',
      value: chosen.search, autocomplete: 'off', spellcheck: 'false',
      oninput: () => { chosen.search = this.search.value; this.refresh(); },
      onkeydown: (event) => this.searchKey(event),
    });
    this.states = h('div', {class: 'states', role: 'group', 'aria-label': 'Filter by state'});
    this.namespace = h('select', {class: 'namespace', 'aria-label': 'Namespace', onchange: () => this.follow(this.namespace.value)});
    this.header = h('div', {class: 'row head', role: 'row', 'aria-rowindex': '1'});
    this.note = h('p', {class: 'note', role: 'status'});
    this.table = h('div', {class: 'table', role: 'table', 'aria-label': 'Applications'}, h('div', {role: 'rowgroup'}, this.header), this.grid.element);
    replace(this.main, h('section', {class: 'fleet'},
      h('h1', {class: 'hidden'}, 'Applications'),
      h('div', {class: 'tools'}, this.search, this.namespace, this.states), this.note, this.table));
    this.keys = (event) => this.focusSearch(event);
    document.addEventListener('keydown', this.keys);
    this.showHeader();
    this.follow(chosen.namespace);
    return () => this.end();
  }

  end() {
    this.ended = true;
    this.stream.close();
    this.grid.close();
    document.removeEventListener('keydown', this.keys);
  }

  // follow opens the stream of a namespace; empty: of all.
  follow(namespace) {
    chosen.namespace = namespace;
    this.stream?.close();
    this.fleet = new Fleet();
    this.refresh();
    this.stream = new Stream(`/api/fleet?namespace=${encodeURIComponent(namespace)}`, {
      begin: () => this.fleet.begin(),
      line: (update) => this.take(update),
      state: this.shared.state,
      failed: (error) => this.failed(error),
    });
  }

  // failed shows one namespace if the viewer may not list all.
  failed(error) {
    const {settings} = this.shared;
    if (error.status === 403 && chosen.namespace === '' && settings.namespace) {
      this.note.textContent = `You may not list the applications of all namespaces. These are those of ${settings.namespace}.`;
      this.follow(settings.namespace);
      return;
    }
    if (error.status !== 403 || !settings.signIn) {
      this.shared.failed(error);
      return;
    }
    chosen.namespace = settings.namespace = '';
    this.shared.interrupted((again) => showNamespace(this.main, this.shared.session.user, error, (name) => {
      settings.namespace = name;
      setNamespace(name);
      again();
    }));
  }

  take(update) {
    if (update.lost) this.shared.state('lost', update.lost);
    else if (update.synced) this.shared.state('live');
    const complete = this.fleet.complete;
    this.fleet.take(update);
    if (this.fleet.complete && !complete) this.refresh();
    else this.schedule();
  }

  // schedule refreshes once for many updates, and rarely while a large fleet arrives.
  schedule() {
    if (this.waiting) return;
    this.waiting = true;
    const pause = this.fleet.complete || !this.marked ? 0 : LOADING_PAUSE;
    setTimeout(() => requestAnimationFrame(() => { this.waiting = false; if (!this.ended) this.refresh(); }), pause);
  }

  refresh() {
    const rows = this.fleet.select(chosen);
    this.grid.show(rows);
    this.table.setAttribute('aria-rowcount', rows.length + 1);
    // The measurement of the console reads these marks.
    if (rows.length > 0 && !this.marked) performance.mark('fleet-first');
    this.marked ||= rows.length > 0;
    if (this.fleet.complete && this.main.dataset.complete !== 'true') performance.mark('fleet-complete');
    this.main.dataset.complete = this.fleet.complete;
    this.showStates();
    this.showNamespaces();
    this.table.classList.toggle('none', rows.length === 0);
    this.table.dataset.empty = this.emptyText();
  }

  emptyText() {
    if (!this.fleet.complete) return 'Reading the applications …';
    if (this.fleet.rows.size === 0) return 'There are no applications here yet. Create an NginxOperator, and it appears.';
    return 'No application matches.';
  }

  showStates() {
    const counts = this.fleet.counts();
    const chip = (state, name, count) => h('button', {
      type: 'button', class: `chip ${state || 'all'}`, 'aria-pressed': String(chosen.state === state), 'data-key': `state-${state}`,
      onclick: () => { chosen.state = chosen.state === state ? '' : state; this.refresh(); },
    }, state && h('i', {class: `dot ${state}`}), name, h('b', {}, count.toLocaleString('en')));
    replace(this.states, chip('', 'All', this.fleet.rows.size),
      STATES.filter((state) => counts[state] > 0 || chosen.state === state).map((state) => chip(state, STATE_NAMES[state], counts[state])));
  }

  showNamespaces() {
    const before = this.namespaces.size;
    for (const row of this.fleet.rows.values()) this.namespaces.add(row.namespace);
    if (chosen.namespace) this.namespaces.add(chosen.namespace);
    if (this.shared.settings.namespace) this.namespaces.add(this.shared.settings.namespace);
    if (this.namespaces.size !== before || this.namespace.options.length === 0) {
      replace(this.namespace, h('option', {value: ''}, 'All namespaces'), [...this.namespaces].sort().map((name) => h('option', {value: name}, name)));
    }
    this.namespace.value = chosen.namespace;
  }

  showHeader() {
    replace(this.header, COLUMNS.map(([sort, name]) => h('span', {
      role: 'columnheader', class: `c-${sort}`, 'aria-sort': chosen.sort !== sort ? 'none' : chosen.descending ? 'descending' : 'ascending',
    }, h('button', {type: 'button', class: 'sort', 'data-key': `sort-${sort}`, onclick: () => this.sortBy(sort)}, name))));
  }

  sortBy(sort) {
    chosen.descending = chosen.sort === sort && !chosen.descending;
    chosen.sort = sort;
    this.showHeader();
    this.refresh();
  }

  focusSearch(event) {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.closest('input, select, textarea, dialog')) return;
    event.preventDefault();
    this.search.select();
  }

  searchKey(event) {
    if (event.key === 'Escape' && this.search.value) {
      this.search.value = chosen.search = '';
      this.refresh();
    } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
      this.grid.element.focus();
      this.grid.select(0);
    } else {
      return;
    }
    event.preventDefault();
  }
}
