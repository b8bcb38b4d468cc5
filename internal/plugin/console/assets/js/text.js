// How values are written. All functions are pure, apart from since and tick.
import {h} from './dom.js';

const MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

// duration returns a number of seconds in at most two units, such as 3m or 2d4h.
export function duration(seconds) {
  const n = Math.max(0, Math.floor(seconds));
  if (n < 2 * MINUTE) return `${n}s`;
  if (n < 10 * MINUTE) return pair(n, MINUTE, 'm', 1, 's');
  if (n < 3 * HOUR) return `${Math.floor(n / MINUTE)}m`;
  if (n < 8 * HOUR) return pair(n, HOUR, 'h', MINUTE, 'm');
  if (n < 2 * DAY) return `${Math.floor(n / HOUR)}h`;
  if (n < 8 * DAY) return pair(n, DAY, 'd', HOUR, 'h');
  if (n < 2 * 365 * DAY) return `${Math.floor(n / DAY)}d`;
  return pair(n, 365 * DAY, 'y', DAY, 'd');
}

function pair(n, large, largeName, small, smallName) {
  const rest = Math.floor((n % large) / small);
  return `${Math.floor(n / large)}${largeName}${rest ? rest + smallName : ''}`;
}

const secondsSince = (iso) => (Date.now() - Date.parse(iso)) / 1000;

// since returns an element with how long ago something was. It stays correct: see tick.
export function since(iso) {
  if (!iso) return h('span', {class: 'muted'}, '–');
  return h('time', {datetime: iso, title: new Date(iso).toLocaleString()}, duration(secondsSince(iso)));
}

// tick updates the elements of since.
export function tick() {
  for (const element of document.querySelectorAll('time[datetime]')) {
    const text = duration(secondsSince(element.dateTime));
    if (element.textContent !== text) element.textContent = text;
  }
}

// days returns how many days are left until a time.
export const days = (iso) => Math.floor(-secondsSince(iso) / DAY);

// short returns the first digits of a hash.
export const short = (hash) => (hash ?? '').slice(0, 8);

// imageName returns an image without its registry.
export function imageName(image) {
  const parts = (image ?? '').split('/');
  return parts[parts.length - 1];
}

// number writes a rate, such as 0.25, 12.4 or 1,300.
export function number(n) {
  if (n === 0) return '0';
  if (n >= 100) return Math.round(n).toLocaleString('en');
  return n.toFixed(n < 1 ? 2 : 1);
}

// latency writes a number of seconds, such as 4.2 ms.
export function latency(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 1) return `${number(seconds * 1000)} ms`;
  return `${number(seconds)} s`;
}

// words returns a CamelCase word as words, such as Rollout in progress.
export function words(text) {
  const spaced = (text ?? '').replace(/([a-z0-9])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}
