// The changes of an application: each asks first, with a dry run, and shows the command that makes the same change.
import {h, replace} from './dom.js';
import {lineItem} from './config.js';
import {post} from './session.js';
import {toast} from './toast.js';

// Changes with a button of their own; those with a place of their own; and all others are in a menu.
const BUTTONS = [['scale', 'Scale'], ['set image', 'Set image'], ['restart', 'Restart']];
const ELSEWHERE = ['rollback', 'unpin', 'approve'];

// What a field begins with.
const FIRST_VALUES = {
  REPLICAS: (view) => view.parts.summary?.replicas ?? 1,
  IMAGE: (view) => view.parts.summary?.image ?? '',
};

const edits = (view) => view.shared.session.edits;

// actions returns the buttons and the menu.
export function actions(view) {
  const own = BUTTONS.map(([command]) => command);
  const others = edits(view).filter((edit) => !own.includes(edit.command) && !ELSEWHERE.includes(edit.command));
  const menu = h('details', {class: 'menu'}, h('summary', {}, 'More'),
    h('div', {class: 'menu-items'}, others.map((edit) => h('button', {
      type: 'button', onclick: () => { menu.open = false; openAction(view, edit.command); },
    }, h('b', {}, title(edit.command)), h('span', {class: 'muted'}, edit.short)))));
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    menu.open = false;
    menu.firstChild.focus();
  });
  menu.addEventListener('focusout', (event) => { if (!menu.contains(event.relatedTarget)) menu.open = false; });
  return [BUTTONS.map(([command, name]) => h('button', {type: 'button', onclick: () => openAction(view, command)}, name)), menu];
}

const title = (command) => command.charAt(0).toUpperCase() + command.slice(1);

// openAction opens the dialog of a change. With all arguments, the dry run begins at once.
export function openAction(view, command, given = undefined) {
  const edit = edits(view).find((candidate) => candidate.command === command);
  new ActionDialog(view, edit, given ?? (edit.arguments.length === 0 ? [] : undefined)).open();
}

class ActionDialog {
  constructor(view, edit, given) {
    Object.assign(this, {view, edit, given, reviewed: false});
    this.result = h('div', {class: 'result', 'aria-live': 'polite'});
    this.submit = h('button', {class: 'primary'}, 'Review');
    this.fields = given ? [] : edit.arguments.map((name) => this.field(name));
    this.dialog = h('dialog', {class: 'action', 'aria-labelledby': 'action-title', onclose: () => this.dialog.remove()},
      h('form', {onsubmit: (event) => { event.preventDefault(); this.step(); }},
        h('h2', {id: 'action-title'}, `${edit.short}: ${view.name}`),
        edit.long && h('p', {class: 'hint'}, edit.long.replaceAll('`', '')),
        this.fields.map((field) => h('label', {}, h('span', {}, field.dataset.name, !field.required && ' (optional)'), field)),
        this.result,
        h('div', {class: 'buttons'}, h('button', {type: 'button', onclick: () => this.dialog.close()}, 'Cancel'), this.submit)));
  }

  // field returns the input of an argument: REPLICAS, [REVISION] if it may be left out, or on|off for a choice.
  field(argument) {
    const name = argument.replace(/[[\]]/g, ''), choices = name.includes('|') ? name.split('|') : undefined;
    const attributes = {'data-name': choices ? 'Set to' : title(name.toLowerCase()), class: 'mono', required: name === argument, oninput: () => this.changed()};
    if (choices) return h('select', attributes, choices.map((choice) => h('option', {value: choice}, choice)));
    const numeric = name === 'REPLICAS' || name === 'REVISION';
    return h('input', {...attributes, type: numeric ? 'number' : 'text', min: numeric ? 0 : false, autocomplete: 'off', spellcheck: 'false', value: FIRST_VALUES[name]?.(this.view)});
  }

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.fields[0]?.select?.();
    if (this.given) this.step();
  }

  // changed requires another review.
  changed() {
    this.reviewed = false;
    this.submit.textContent = 'Review';
    replace(this.result);
  }

  // step reviews the change, and makes it after that.
  async step() {
    const dryRun = !this.reviewed;
    const body = {command: this.edit.command, arguments: this.given ?? this.fields.map((field) => field.value.trim()).filter(Boolean), dryRun, reviewed: this.reviewed ? this.agreed : ''};
    this.submit.disabled = true;
    try {
      const made = await post(`${this.view.path}/edits`, body);
      if (dryRun) this.review(made);
      else this.done(made);
    } catch (error) {
      if (error.status === 401) {
        this.dialog.close();
        this.view.shared.failed(error);
        return;
      }
      this.changed();
      replace(this.result, h('p', {class: 'error words', role: 'alert'}, error.message));
    } finally {
      this.submit.disabled = false;
    }
    if (this.reviewed) this.submit.focus();
  }

  review(made) {
    this.reviewed = true;
    this.agreed = made.done;
    this.submit.textContent = 'Apply';
    replace(this.result,
      h('h3', {}, 'The API server accepts this change'),
      made.lines.length > 0 ? h('div', {class: 'code', tabindex: '0', 'aria-label': 'Changes'}, made.lines.map(lineItem)) : h('p', {class: 'muted'}, 'Nothing changes.'),
      h('h3', {}, 'The same by command'), h('code', {class: 'command'}, made.command));
  }

  done(made) {
    this.dialog.close();
    toast(`${this.view.name}: ${made.done}`);
  }
}
