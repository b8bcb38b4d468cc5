// Short messages about what was done.
import {h} from './dom.js';

const SHOWN = 6000;

// toast shows a message for some seconds.
export function toast(message) {
  const element = h('div', {class: 'toast'}, message);
  document.getElementById('toasts').append(element);
  setTimeout(() => element.remove(), SHOWN);
}
