// A plot of lines over time.
import {h, replace, s} from './dom.js';

const WIDTH = 300, HEIGHT = 72, TOP = 6;

// Plot draws series: each has a name, a class, and a function that returns the value of a sample, or null.
export class Plot {
  constructor({title, unit, series}) {
    Object.assign(this, {unit, series, samples: []});
    this.values = h('span', {class: 'plot-values'});
    this.svg = s('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'});
    this.scale = h('span', {class: 'plot-scale muted'});
    this.element = h('figure', {class: 'plot', onpointermove: (event) => this.point(event), onpointerleave: () => this.show(this.samples.at(-1))},
      h('figcaption', {}, h('span', {class: 'plot-title'}, title), this.values), h('div', {class: 'plot-area'}, this.svg, this.scale));
  }

  // draw draws samples between two times.
  draw(samples, from, to) {
    Object.assign(this, {samples, from, to});
    const values = samples.flatMap((sample) => this.series.map((one) => one.value(sample) ?? 0));
    const top = ceiling(Math.max(...values, 0));
    this.scale.textContent = top > 0 ? this.unit(top) : '';
    replace(this.svg, this.series.map((one, i) => this.line(one, top, i === 0)));
    this.show(samples.at(-1));
  }

  line(one, top, filled) {
    const x = (time) => (WIDTH * (time - this.from)) / (this.to - this.from || 1);
    const y = (value) => HEIGHT - 1 - ((HEIGHT - TOP) * value) / (top || 1);
    const points = this.samples.filter((sample) => one.value(sample) !== null).map((sample) => `${x(sample.time).toFixed(1)},${y(one.value(sample)).toFixed(1)}`);
    if (points.length === 0) return [];
    const ends = [points[0].split(',')[0], points.at(-1).split(',')[0]];
    return [
      filled && s('polygon', {class: `area ${one.class}`, points: `${ends[0]},${HEIGHT} ${points.join(' ')} ${ends[1]},${HEIGHT}`}),
      s('polyline', {class: `line ${one.class}`, points: points.join(' '), 'vector-effect': 'non-scaling-stroke'}),
    ];
  }

  // point shows the values at the pointer.
  point(event) {
    if (this.samples.length === 0) return;
    const area = this.svg.getBoundingClientRect();
    const time = this.from + ((event.clientX - area.left) / area.width) * (this.to - this.from);
    const nearest = this.samples.reduce((a, b) => (Math.abs(b.time - time) < Math.abs(a.time - time) ? b : a));
    this.show(nearest, true);
  }

  show(sample, past = false) {
    const many = this.series.length > 1;
    replace(this.values, sample ? this.series.map((one) => {
      const value = one.value(sample);
      return h('span', {class: one.class}, many && h('small', {}, `${one.name} `), value === null ? '–' : this.unit(value));
    }) : '–', past && h('small', {class: 'muted'}, ` ${new Date(sample.time).toLocaleTimeString()}`));
  }
}

// ceiling returns the next value of the form 1, 2 or 5 times a power of ten.
function ceiling(value) {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value * 0.999);
}
