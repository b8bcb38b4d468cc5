// Streams of JSON lines. They are open only while the page is visible.
import {Refusal, request} from './session.js';

const open = new Set();
const FIRST_PAUSE = 500, LONGEST_PAUSE = 10_000;

// Stream calls line for each value, begin for each connection, and failed when the server refuses.
export class Stream {
  constructor(path, {line, begin = () => {}, failed, state = () => {}}) {
    Object.assign(this, {path, line, begin, failed, state, pause: FIRST_PAUSE});
    open.add(this);
    this.resume();
  }

  // close ends the stream for good.
  close() {
    open.delete(this);
    this.suspend();
  }

  suspend() {
    this.abort?.abort();
    this.abort = undefined;
    clearTimeout(this.retry);
  }

  resume() {
    if (!open.has(this) || this.abort || document.hidden) return;
    this.abort = new AbortController();
    this.run(this.abort.signal);
  }

  async run(signal) {
    try {
      const response = await request(this.path, {signal});
      this.begin();
      this.state('live');
      await this.read(response.body);
      throw new Error('the stream ended');
    } catch (error) {
      if (!signal.aborted) this.ended(error);
    }
  }

  ended(error) {
    this.abort = undefined;
    if (error instanceof Refusal && error.status < 500 && error.status !== 429) {
      open.delete(this);
      this.failed(error);
      return;
    }
    this.state('lost', error.message);
    this.retry = setTimeout(() => this.resume(), this.pause);
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
  }

  async read(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      for (const line of lines) if (line) this.take(JSON.parse(line));
    }
  }

  take(value) {
    if (value.error) throw new Refusal(value.code, value);
    this.pause = FIRST_PAUSE;
    this.line(value);
  }
}

document.addEventListener('visibilitychange', () => {
  for (const stream of open) {
    if (document.hidden) stream.suspend();
    else stream.resume();
  }
});

// A page that the browser keeps for the button Back must not keep its streams.
window.addEventListener('pagehide', () => {
  for (const stream of open) stream.suspend();
});
window.addEventListener('pageshow', () => {
  for (const stream of open) stream.resume();
});
