// The cards that are lists.
import {h} from './dom.js';
import {days, since, words} from './text.js';

const none = (text) => h('p', {class: 'muted none'}, text);

// renderConditions renders the conditions, with the messages of those that are not True. The message of Ready is the one
// of another condition.
export function renderConditions(conditions) {
  if (conditions.length === 0) return none('The operator has not reported yet.');
  return h('ul', {class: 'list conditions'}, conditions.map((c) => h('li', {class: c.state},
    h('span', {class: 'line'}, h('i', {class: `dot ${c.state}`, 'aria-hidden': 'true'}),
      h('b', {}, words(c.type)), h('span', {class: 'hidden'}, c.status), h('span', {class: 'muted'}, words(c.reason)), h('span', {class: 'push muted'}, since(c.since))),
    c.message && c.status !== 'True' && c.type !== 'Ready' && h('p', {class: 'words'}, c.message),
    c.outdated && h('p', {class: 'hint'}, 'Not yet about the present spec.'))));
}

// renderCertificates renders the certificates with the days that are left.
export function renderCertificates(certificates) {
  if (certificates.length === 0) return none('spec.tls declares none.');
  return h('ul', {class: 'list'}, certificates.map((c) => h('li', {},
    h('span', {class: 'line'}, h('b', {}, c.name), h('span', {class: 'push'}, remaining(c))),
    h('span', {class: 'mono muted small'}, c.serial ? `serial ${c.serial}` : `Secret ${c.secret}`))));
}

function remaining(certificate) {
  if (!certificate.expires) return h('span', {class: 'bad'}, 'not served');
  const left = days(certificate.expires);
  const level = left < 0 ? 'bad' : left < 14 ? 'warn' : 'good';
  return h('span', {class: level, title: new Date(certificate.expires).toLocaleString()}, left < 0 ? 'expired' : `${left} days left`);
}

const BACKUP_DOTS = {verified: 'ready', completed: 'ready', failing: 'notReady', pending: 'progressing'};

// renderBackups renders the backups, the newest first.
export function renderBackups(backups) {
  if (backups.length === 0) return none('There are no backups.');
  return h('ul', {class: 'list scroll', tabindex: '0', 'aria-label': 'Backups'}, backups.map((b) => h('li', {},
    h('span', {class: 'line'}, h('i', {class: `dot ${BACKUP_DOTS[b.state]}`, 'aria-hidden': 'true'}), h('b', {}, words(b.state)),
      h('span', {class: 'muted'}, [b.trigger, b.size].filter(Boolean).join(', ')), h('span', {class: 'push muted'}, since(b.completed ?? b.created))),
    h('span', {class: 'mono muted small'}, b.name),
    b.message && h('p', {class: 'words'}, b.message))));
}

// renderEvents renders the events, the newest first.
export function renderEvents(events) {
  if (events.length === 0) return none('There are no events. Kubernetes keeps them for an hour.');
  return h('ul', {class: 'list scroll', tabindex: '0', 'aria-label': 'Events'}, events.map((e) => h('li', {},
    h('span', {class: 'line'}, h('b', {class: e.type === 'Warning' ? 'warn' : ''}, words(e.reason)),
      e.count > 1 && h('span', {class: 'muted'}, `× ${e.count}`), h('span', {class: 'push muted'}, since(e.at))),
    h('p', {class: 'words'}, e.note))));
}

// renderNotShown names what the viewer may not read, in the words of the API server.
export function renderNotShown(refusals) {
  if (refusals.length === 0) return [];
  return h('details', {class: 'banner progressing'},
    h('summary', {}, `Not shown, because you may not read it: ${refusals.map((r) => r.what).join(', ')}`),
    refusals.map((r) => h('p', {class: 'words'}, r.message)));
}
