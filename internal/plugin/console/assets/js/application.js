// The view of one application: a card for each part of the stream.
import {h, replace} from './dom.js';
import {Stream} from './stream.js';
import {actions} from './actions.js';
import {renderBackups, renderCertificates, renderConditions, renderEvents, renderNotShown} from './lists.js';
import {renderConfig} from './config.js';
import {renderHistory} from './history.js';
import {renderPods} from './pods.js';
import {renderRollout} from './rollout.js';
import {renderFacts, renderSummary} from './summary.js';
import {Traffic} from './traffic.js';

// The cards, in their order: which column, the part, the title, and the function that renders it.
const CARDS = [
  ['wide', 'rollout', 'Rollout', renderRollout],
  ['wide', 'pods', 'Pods', renderPods],
  ['wide', 'config', 'Configuration', renderConfig],
  ['wide', 'history', 'History', renderHistory],
  ['side', 'facts', 'Application', renderFacts],
  ['side', 'conditions', 'Conditions', renderConditions],
  ['side', 'certificates', 'Certificates', renderCertificates],
  ['side', 'backups', 'Backups', renderBackups],
  ['side', 'events', 'Events', renderEvents],
];

// showApplication shows an application, and returns a function that ends the view.
export function showApplication(main, shared, namespace, name) {
  return new ApplicationView(main, shared, namespace, name).start();
}

class ApplicationView {
  constructor(main, shared, namespace, name) {
    // parts has the newest data of each part.
    Object.assign(this, {main, shared, namespace, name, parts: {}, serving: {}, rates: {}, bodies: {}, open: new Set()});
    this.path = `/api/applications/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  }

  start() {
    document.title = `${this.name} – nginx console`;
    this.build();
    this.traffic = new Traffic(this.path, this.plots, (sample) => this.measured(sample));
    this.stream = new Stream(this.path, {
      line: (part) => this.take(part),
      state: this.shared.state,
      failed: this.shared.failed,
    });
    return () => {
      this.stream.close();
      this.traffic.close();
      this.main.classList.remove('is-missing');
    };
  }

  build() {
    this.summary = h('div', {class: 'summary'});
    this.actions = h('div', {class: 'actions', role: 'toolbar', 'aria-label': 'Actions'}, actions(this));
    this.notShown = h('div', {class: 'not-shown'});
    this.plots = h('div', {class: 'plots'});
    const columns = {wide: h('div', {class: 'column wide'}), side: h('div', {class: 'column side'})};
    for (const [column, part, title] of CARDS) {
      this.bodies[part] = h('div', {class: 'card-body'});
      columns[column].append(this.card(part, title, this.bodies[part]));
    }
    columns.wide.children[0].after(this.card('traffic', 'Traffic', this.plots));
    replace(this.main, h('article', {class: 'application'},
      h('div', {class: 'heading'},
        h('div', {class: 'title'}, h('a', {href: '#/', class: 'back', 'aria-label': 'All applications'}, '‹'),
          h('h1', {}, this.name), h('span', {class: 'muted'}, this.namespace)),
        this.actions),
      this.summary, this.notShown, h('div', {class: 'columns'}, columns.wide, columns.side)));
    this.main.dataset.complete = 'false';
  }

  card(part, title, body) {
    return h('section', {class: `card card-${part}`, 'aria-labelledby': `title-${part}`}, h('h2', {id: `title-${part}`}, title), body);
  }

  take({part, data}) {
    this.parts[part] = data;
    if (part === 'missing') {
      replace(this.summary, h('p', {class: 'banner notReady', role: 'alert'}, 'This application does not exist.'));
      this.main.classList.add('is-missing');
      this.main.dataset.complete = 'true';
    } else if (part === 'summary') {
      this.main.classList.remove('is-missing');
      replace(this.summary, renderSummary(data));
      this.render('facts', data);
    } else if (part === 'notShown') {
      replace(this.notShown, renderNotShown(data));
      this.main.dataset.complete = 'true';
    } else if (part === 'lost') {
      this.shared.state(data ? 'lost' : 'live', data);
    } else {
      this.render(part, data);
    }
  }

  render(part, data) {
    const card = CARDS.find(([, name]) => name === part);
    if (card) replace(this.bodies[part], card[3](data, this));
  }

  // measured takes a sample of the traffic: the pods show their own.
  measured(sample) {
    this.serving = sample.serving;
    this.rates = sample.pods;
    if (this.parts.pods) this.render('pods', this.parts.pods);
  }

  // again renders a part again, after the viewer has changed how it is shown.
  again(part) {
    this.render(part, this.parts[part]);
  }
}
