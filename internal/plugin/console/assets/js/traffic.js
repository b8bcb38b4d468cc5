// What the pods serve: requests, errors and latency of the last minutes.
import {h, replace} from './dom.js';
import {Plot} from './plot.js';
import {Stream} from './stream.js';
import {latency, number} from './text.js';

const MINUTES = 5;

// Traffic draws plots into an element while it is open.
export class Traffic {
  constructor(path, element, measured) {
    Object.assign(this, {samples: [], measured});
    const rate = (n) => `${number(n)}/s`;
    this.plots = [
      new Plot({title: 'Requests', unit: rate, series: [{name: 'requests', class: 'line-a', value: (s) => s.total.requests}]}),
      new Plot({title: 'Errors (5xx)', unit: rate, series: [{name: 'errors', class: 'line-bad', value: (s) => s.total.errors}]}),
      new Plot({title: 'Latency', unit: latency, series: [
        {name: 'p50', class: 'line-a', value: (s) => s.total.p50}, {name: 'p99', class: 'line-b', value: (s) => s.total.p99},
      ]}),
    ];
    this.note = h('p', {class: 'hint'}, 'Reading the metrics of the pods …');
    replace(element, h('div', {class: 'plot-row'}, this.plots.map((plot) => plot.element)), this.note);
    this.stream = new Stream(`${path}/traffic`, {
      line: (sample) => this.take(sample),
      failed: (error) => { this.note.textContent = ''; replace(this.note, error.message); },
    });
  }

  close() {
    this.stream.close();
  }

  take(sample) {
    sample.time = Date.parse(sample.at);
    if (Object.keys(sample.pods).length > 0) this.samples.push(sample);
    const oldest = sample.time - MINUTES * 60_000;
    this.samples = this.samples.filter((s) => s.time >= oldest);
    const first = this.samples[0]?.time ?? oldest;
    for (const plot of this.plots) plot.draw(this.samples, first, sample.time);
    replace(this.note, this.silence(sample));
    this.measured(sample);
  }

  silence(sample) {
    const silent = Object.entries(sample.silent ?? {});
    if (silent.length > 0) return `${silent.length === 1 ? 'A pod does' : `${silent.length} pods do`} not answer: ${silent[0][0]}: ${silent[0][1]}`;
    if (Object.keys(sample.serving).length === 0) return 'No pod runs.';
    return `At most the last ${MINUTES} minutes, every ${sample.next / 1000} seconds`;
  }
}
