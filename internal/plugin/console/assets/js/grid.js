// A table that has elements for the visible rows only.
import {h} from './dom.js';

const SPARE = 8;

// Grid shows rows of a fixed height. render(row, element) fills the element of a row.
export class Grid {
  constructor({label, height, render, open}) {
    Object.assign(this, {render, open, rows: [], elements: [], selected: -1});
    this.space = h('div', {class: 'space', role: 'presentation'});
    this.element = h('div', {class: 'rows', role: 'rowgroup', tabindex: '0', 'aria-label': label, onkeydown: (event) => this.key(event)}, this.space);
    this.element.addEventListener('scroll', () => this.draw(), {passive: true});
    this.observer = new ResizeObserver(() => this.resize(height));
    this.observer.observe(this.element);
    this.height = height();
  }

  close() {
    this.observer.disconnect();
  }

  resize(height) {
    this.height = height();
    this.show(this.rows);
  }

  // show shows rows, and keeps the position.
  show(rows) {
    this.rows = rows;
    this.selected = Math.min(this.selected, rows.length - 1);
    this.space.style.height = `${rows.length * this.height}px`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.height) - SPARE);
    const count = Math.min(this.rows.length - first, Math.ceil(this.element.clientHeight / this.height) + 2 * SPARE);
    while (this.elements.length < count) {
      const element = h('a', {class: 'row', role: 'row', tabindex: '-1'});
      this.elements.push(element);
      this.space.append(element);
    }
    this.elements.forEach((element, i) => this.place(element, first + i, i < count));
  }

  place(element, index, used) {
    element.hidden = !used;
    if (!used) return;
    element.style.transform = `translateY(${index * this.height}px)`;
    element.setAttribute('aria-rowindex', index + 2);
    element.classList.toggle('selected', index === this.selected);
    this.render(this.rows[index], element);
  }

  // key moves the selection: the arrow keys, Page Up and Down, Home and End, and Enter to open.
  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
    const last = this.rows.length - 1;
    const to = {
      ArrowDown: this.selected + 1, ArrowUp: this.selected - 1, PageDown: this.selected + page, PageUp: this.selected - page, Home: 0, End: last,
    }[event.key];
    if (event.key === 'Enter' && this.rows[this.selected]) {
      this.open(this.rows[this.selected]);
    } else if (to !== undefined && last >= 0) {
      this.select(Math.min(last, Math.max(0, to)));
    } else {
      return;
    }
    event.preventDefault();
  }

  select(index) {
    this.selected = index;
    const top = index * this.height, view = this.element;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + this.height > view.scrollTop + view.clientHeight) view.scrollTop = top + this.height - view.clientHeight;
    this.draw();
    const current = this.elements.find((element) => !element.hidden && element.classList.contains('selected'));
    if (current) {
      current.id = 'selected-row';
      for (const element of this.elements) if (element !== current) element.removeAttribute('id');
      view.setAttribute('aria-activedescendant', 'selected-row');
    }
  }
}
