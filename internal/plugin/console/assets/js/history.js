// The revisions, with roll back.
import {h} from './dom.js';
import {openAction} from './actions.js';
import {imageName, short, since, words} from './text.js';

// renderHistory renders the revisions, the newest first.
export function renderHistory(revisions, view) {
  if (revisions.length === 0) return h('p', {class: 'muted none'}, 'There are no revisions yet.');
  return h('div', {class: 'table-scroll', tabindex: '0', 'aria-label': 'History'}, h('table', {class: 'history'},
    h('thead', {}, h('tr', {}, ['', 'State', 'Image', 'Configuration', 'Cause', 'Served', ''].map((name) => h('th', {scope: 'col'}, name)))),
    h('tbody', {}, revisions.map((revision) => [row(revision, view), revision.failure && h('tr', {class: 'failure'}, h('td', {}), h('td', {colspan: 6, class: 'words'}, revision.failure))]))));
}

function row(revision, view) {
  return h('tr', {class: revision.current ? 'current' : ''},
    h('th', {scope: 'row'}, revision.number),
    h('td', {}, h('span', {class: `tag ${revision.state === 'failed' ? 'failing' : revision.current ? 'ready' : ''}`}, revision.current ? 'Current' : words(revision.state)),
      revision.pinned && h('span', {class: 'tag'}, 'pinned')),
    h('td', {class: 'mono', title: revision.image}, imageName(revision.image)),
    h('td', {class: 'mono'}, short(revision.config)),
    h('td', {class: 'cause'}, revision.cause),
    h('td', {}, revision.served ? [since(revision.served), ' ago'] : h('span', {class: 'muted'}, 'never')),
    h('td', {}, button(revision, view)));
}

function button(revision, view) {
  if (revision.pinned) {
    return h('button', {type: 'button', 'data-key': 'unpin', onclick: () => openAction(view, 'unpin', [])}, 'Unpin');
  }
  if (revision.current || revision.state !== 'good') return '';
  return h('button', {
    type: 'button', 'data-key': `rollback-${revision.number}`, 'aria-label': `Roll back to revision ${revision.number}`,
    onclick: () => openAction(view, 'rollback', [String(revision.number)]),
  }, 'Roll back');
}
