// The files of the configuration: what changes, and what nginx says about a line.
import {h} from './dom.js';
import {short} from './text.js';

const CHANGES = {added: 'new', removed: 'removed', changed: 'changed'};
// Lines of a file beyond MOST are left out: a page with 100,000 lines is of no use.
const MOST = 3000;
const CONTEXT = 3;

// renderConfig renders the files. Those with a change or a problem are open at first.
export function renderConfig(config, view) {
  if (config.files.length === 0) return h('p', {class: 'muted none'}, 'The configuration cannot be shown.');
  return [
    h('p', {class: 'hint'}, revisions(config)),
    config.verdict && h('p', {class: 'words bad', role: 'alert'}, config.verdict),
    config.files.map((file) => fileItem(file, config.problems ?? [], view)),
  ];
}

function revisions(config) {
  const next = h('code', {}, short(config.next) || '–');
  if (config.stable === config.next || !config.stable) return ['Configuration ', next, ' is requested, and pods start with it.'];
  return ['Changes from ', h('code', {}, short(config.stable)), ', with which pods start, to ', next, ', which is requested.'];
}

function fileItem(file, problems, view) {
  const own = problems.filter((problem) => problem.file === file.name);
  const key = `file ${file.name}`;
  const wanted = view.open.has(key) || (!view.open.has(`closed ${key}`) && (own.length > 0 || file.change));
  const element = h('details', {class: 'file', open: Boolean(wanted)},
    h('summary', {'data-key': key}, h('span', {class: 'mono'}, file.name), file.change && h('span', {class: `tag ${file.change}`}, CHANGES[file.change]),
      own.length > 0 && h('span', {class: 'tag failing'}, `line ${own[0].line}`), h('span', {class: 'push muted'}, file.lines.length === 1 ? '1 line' : `${file.lines.length} lines`)));
  const fill = () => {
    if (element.open && !element.filled) element.append(code(file, own));
    element.filled ||= element.open;
  };
  element.addEventListener('toggle', () => {
    view.open.delete(element.open ? `closed ${key}` : key);
    view.open.add(element.open ? key : `closed ${key}`);
    fill();
  });
  fill();
  return element;
}

// code returns the lines of a file. Of a long file with changes or problems, only those around them.
function code(file, problems) {
  const near = file.lines.length > 200 ? nearby(file, problems) : undefined;
  const rows = [];
  let skipped = false;
  file.lines.slice(0, MOST).forEach((line, i) => {
    if (near && near.size > 0 && !near.has(i)) {
      if (!skipped) rows.push(h('div', {class: 'code-line gap'}, '⋯'));
      skipped = true;
      return;
    }
    skipped = false;
    rows.push(lineItem(line), problems.filter((p) => p.line === line.number).map((p) =>
      h('div', {class: 'code-problem', role: 'note'}, h('b', {}, 'nginx: '), p.message)));
  });
  if (file.lines.length > MOST) rows.push(h('div', {class: 'code-line gap'}, `⋯ ${file.lines.length - MOST} more lines`));
  return h('div', {class: 'code', tabindex: '0', 'aria-label': `Content of ${file.name}`}, rows);
}

function nearby(file, problems) {
  const near = new Set();
  file.lines.forEach((line, i) => {
    if (!line.op && !problems.some((p) => p.line === line.number)) return;
    for (let k = i - CONTEXT; k <= i + CONTEXT; k++) near.add(k);
  });
  return near;
}

// lineItem returns a line of a file, or of a difference.
export function lineItem(line) {
  const kinds = {'+': 'plus', '-': 'minus', '…': 'gap'};
  return h('div', {class: `code-line ${kinds[line.op] ?? ''}`}, h('span', {class: 'gutter'}, line.number || ''), h('span', {class: 'op'}, line.op ?? ' '), h('span', {class: 'code-text'}, line.text));
}
