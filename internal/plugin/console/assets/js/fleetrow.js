// A row of the fleet.
import {h, replace} from './dom.js';
import {STATE_NAMES} from './fleetmodel.js';
import {applicationPath} from './paths.js';
import {days, imageName, short, since, words} from './text.js';

// An expiry within SOON days is emphasized.
const SOON = 14;

// fillRow fills the element of a row, if it shows another one or an older one.
export function fillRow(row, element) {
  if (element.shown === row) return;
  const updated = element.shown?.key === row.key;
  element.shown = row;
  element.href = applicationPath(row.namespace, row.name);
  element.dataset.name = row.key;
  element.classList.toggle('updated', updated);
  replace(element, cells(row));
}

const cell = (name, attributes, ...children) => h('span', {role: 'cell', ...attributes, class: `c-${name} ${attributes?.class ?? ''}`}, children);

function cells(row) {
  return [
    cell('name', {title: row.key}, h('i', {class: `dot ${row.state}`, 'aria-hidden': 'true'}), h('b', {}, row.name), h('span', {class: 'muted'}, row.namespace)),
    cell('ready', {}, readiness(row)),
    cell('state', {title: row.message}, stateOf(row)),
    cell('image', {class: 'mono', title: row.image}, imageName(row.image)),
    cell('revision', {class: 'mono'}, row.revision ?? '–', row.pinned && h('em', {title: 'Rolled back to this revision'}, ' pinned')),
    cell('config', {class: 'mono'}, short(row.config), row.loaded < row.ready && h('em', {}, ` ${row.loaded}/${row.ready}`)),
    cell('expires', {}, expiry(row.expires)),
    cell('age', {}, since(row.created)),
  ];
}

function readiness(row) {
  const share = row.replicas ? Math.min(1, row.ready / row.replicas) : 1;
  const bar = h('i', {class: `bar-fill ${share < 1 ? 'part' : ''}`});
  bar.style.transform = `scaleX(${share})`;
  return [h('span', {class: 'count'}, `${row.ready}/${row.replicas}`), h('span', {class: 'bar-track', 'aria-hidden': 'true'}, bar)];
}

function stateOf(row) {
  const name = h('span', {class: `state ${row.state}`}, row.reason ? words(row.reason) : STATE_NAMES[row.state]);
  const detail = row.gates ? `for ${row.gates.join(', ')}` : row.message;
  return [name, row.since && since(row.since), detail && h('span', {class: 'detail'}, detail)];
}

function expiry(at) {
  if (!at) return h('span', {class: 'muted'}, '–');
  const left = days(at);
  return h('span', {class: left < 0 ? 'bad' : left < SOON ? 'warn' : '', title: new Date(at).toLocaleString()}, left < 0 ? 'expired' : `${left}d`);
}
