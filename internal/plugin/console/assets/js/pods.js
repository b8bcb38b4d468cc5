// The pods on their nodes.
import {h} from './dom.js';
import {latency, number, short, since} from './text.js';

const STATES = {ready: 'Ready', starting: 'Starting', ending: 'Ending', failing: 'Failing'};
const DOTS = {ready: 'ready', starting: 'progressing', ending: 'suspended', failing: 'notReady'};

// renderPods renders the pods by zone and node.
export function renderPods(nodes, view) {
  if (nodes.length === 0) return h('p', {class: 'muted none'}, 'There are no pods.');
  return h('div', {class: 'nodes'}, nodes.map((node) => h('div', {class: 'node'},
    h('h3', {}, node.name || 'No node yet', node.zone && h('span', {class: 'muted'}, node.zone),
      h('span', {class: 'push muted'}, `${node.pods.length} ${node.pods.length === 1 ? 'pod' : 'pods'}`)),
    h('ul', {class: 'pods'}, node.pods.map((pod) => podItem(pod, view))))));
}

function podItem(pod, view) {
  const rates = view.rates[pod.name], serving = view.serving[pod.name];
  return h('li', {class: `pod ${pod.state} ${pod.target ? 'target' : 'older'}`, 'data-pod': pod.name},
    h('span', {class: 'line'}, h('i', {class: `dot ${DOTS[pod.state]}`, 'aria-hidden': 'true'}), h('b', {class: 'mono'}, pod.name), h('span', {class: 'push muted'}, since(pod.created))),
    h('span', {class: 'tags'},
      h('span', {class: `tag ${pod.state}`}, STATES[pod.state]),
      h('span', {class: 'tag', title: `template ${pod.template}`}, pod.revision ? `revision ${pod.revision}` : `template ${short(pod.template)}`),
      serving && h('span', {class: 'tag mono', title: 'the configuration that it serves'}, short(serving)),
      pod.restarts > 0 && h('span', {class: 'tag warn'}, `${pod.restarts} ${pod.restarts === 1 ? 'restart' : 'restarts'}`),
      rates && h('span', {class: 'tag rate'}, `${number(rates.requests)}/s`, rates.p99 !== null && ` · p99 ${latency(rates.p99)}`)),
    pod.message && h('p', {class: 'words'}, pod.message));
}
