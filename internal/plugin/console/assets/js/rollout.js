// The progress of a rollout: through gates, the first pods, the canary and the others; and of a configuration.
import {h} from './dom.js';
import {openAction} from './actions.js';
import {short, since, words} from './text.js';

const STEPS = {
  Gates: ['Gates', 'waits until its gates are open'],
  Proving: ['First pods', 'must accept the configuration and stay ready'],
  Canary: ['Canary', 'is compared with the other pods'],
  Rolling: ['Others', 'follow, as maxSurge and maxUnavailable allow'],
};

// renderRollout renders both.
export function renderRollout(rollout, view) {
  return [
    rollout.stage ? steps(rollout) : settled(rollout),
    rollout.gates && gates(rollout, view),
    rollout.message && rollout.message !== view.parts.summary?.message && h('p', {class: 'words'}, h('b', {}, words(rollout.reason)), ': ', rollout.message),
    h('div', {class: 'meters'},
      meter('Up to date', rollout.updated, rollout.replicas, 'pods'),
      meter('Ready', rollout.ready, rollout.replicas, 'pods'),
      meter('Configuration tested', rollout.tested, rollout.replicas, `pods accept ${short(rollout.config)}`),
      meter('Configuration loaded', rollout.loaded, rollout.replicas, `pods serve ${short(rollout.config)}`)),
    rollout.stable && rollout.stable !== rollout.config &&
      h('p', {class: 'hint'}, 'New pods start with ', h('code', {}, short(rollout.stable)), ' until every pod has served ', h('code', {}, short(rollout.config)), '.'),
  ];
}

function settled(rollout) {
  return h('p', {class: 'muted none'}, rollout.reason ? 'No pods are being replaced.' : 'Every pod is as declared.');
}

function steps(rollout) {
  const names = Object.keys(STEPS).filter((name) =>
    name === rollout.stage || (name === 'Gates' ? rollout.gated : name === 'Canary' ? rollout.canary : true));
  const at = names.indexOf(rollout.stage);
  return [
    h('ol', {class: 'steps'}, names.map((name, i) => h('li', {
      class: i < at ? 'done' : i === at ? 'now' : 'later', 'aria-current': i === at ? 'step' : false,
    }, h('b', {}, STEPS[name][0]), h('span', {}, i === at ? STEPS[name][1] : i < at ? 'done' : '')))),
    rollout.candidate > 0 && h('p', {class: 'hint'}, `Revision ${rollout.candidate}, started `, since(rollout.started), ' ago'),
  ];
}

function gates(rollout, view) {
  return h('p', {class: 'gates'}, 'Waiting for ', since(rollout.waiting), ' for: ', rollout.gates.map((gate) =>
    h('button', {type: 'button', 'data-key': `gate-${gate}`, onclick: () => openAction(view, 'approve', [gate])}, `Open ${gate}`)));
}

function meter(name, value, of, unit) {
  const share = of ? Math.min(1, value / of) : 1;
  const fill = h('i', {class: `bar-fill ${share < 1 ? 'part' : ''}`});
  fill.style.transform = `scaleX(${share})`;
  return h('div', {class: 'meter', role: 'meter', 'aria-label': name, 'aria-valuemin': 0, 'aria-valuemax': of, 'aria-valuenow': value, title: unit},
    h('span', {class: 'meter-name'}, name), h('span', {class: 'meter-value'}, h('b', {}, value), ` of ${of}`), h('span', {class: 'bar-track'}, fill));
}
