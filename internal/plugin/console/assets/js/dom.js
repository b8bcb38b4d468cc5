// Elements from data of the cluster. Text is set as text, never as HTML.

// Control characters, and characters that change the direction of reading or are invisible. Ends of lines and tabulators
// may stay.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

// clean replaces characters that would show something else than the text says.
export const clean = (text) => String(text).replace(UNSAFE, '\ufffd');

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : clean(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : clean(child));
  }
}

// h returns an HTML element.
export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

// s returns an SVG element.
export const s = (name, attributes, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);

// replace replaces the children of an element. The element with the focus keeps it, if the new ones have its data-key.
export function replace(element, ...children) {
  const active = document.activeElement;
  const key = active && element.contains(active) ? active.dataset.key : undefined;
  element.replaceChildren();
  append(element, children);
  if (key === undefined) return;
  for (const candidate of element.querySelectorAll('[data-key]')) {
    if (candidate.dataset.key === key) candidate.focus({preventScroll: true});
  }
}
