// What runs, and why the application is not ready.
import {h} from './dom.js';
import {since, words} from './text.js';

// renderSummary renders one line that says how the application is.
export function renderSummary(summary) {
  const ready = summary.state === 'ready';
  return h('div', {class: `banner ${summary.state}`, role: 'status'},
    h('span', {class: 'banner-state'}, h('i', {class: `dot ${summary.state}`, 'aria-hidden': 'true'}),
      h('b', {}, ready ? 'Ready' : summary.reason ? words(summary.reason) : 'Not reported yet')),
    h('span', {class: 'banner-count'}, `${summary.ready} of ${summary.replicas} pods`),
    summary.since && h('span', {class: 'muted'}, 'for ', since(summary.since)),
    !ready && h('p', {class: 'words'}, summary.message),
    summary.suspended && h('p', {}, 'Suspended: the operator leaves it as it is, whatever the spec declares.'),
    summary.pinned > 0 && h('p', {}, `Rolled back to revision ${summary.pinned}: it stays there, whatever else the spec declares.`));
}

// renderFacts renders what the application is.
export function renderFacts(summary) {
  const facts = [
    ['Image', h('span', {class: 'mono'}, summary.image || '–')],
    ['nginx', summary.nginxVersion || '–'],
    ['Revision', summary.revision || '–'],
    ['Restarts', summary.restarts],
    ['Created', [since(summary.created), ' ago']],
    ['Addresses', (summary.addresses ?? []).map((address) => h('div', {class: 'mono'}, address.value))],
  ];
  return h('dl', {class: 'facts'}, facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}
