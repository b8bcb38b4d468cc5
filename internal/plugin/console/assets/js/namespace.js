// The choice of a namespace by viewers who may not list the applications of all.
import {h, replace} from './dom.js';

// ServiceAccounts belong to a namespace: https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
const ACCOUNT = /^system:serviceaccount:([^:]+):/;

// showNamespace asks for a namespace, and calls chosen with it.
export function showNamespace(main, user, error, chosen) {
  const input = h('input', {
    id: 'namespace', class: 'mono', required: true, pattern: '[a-z0-9]([a-z0-9\\-]*[a-z0-9])?', title: 'a name of a namespace, such as shop', maxlength: '63',
    autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', value: ACCOUNT.exec(user ?? '')?.[1],
  });
  const submit = (event) => {
    event.preventDefault();
    chosen(input.value);
  };
  replace(main, h('form', {class: 'sign-in choose', onsubmit: submit},
    h('h1', {}, 'Choose a namespace'),
    h('p', {class: 'words'}, error.message),
    h('label', {for: 'namespace'}, 'Namespace with applications'), input,
    h('div', {class: 'buttons'}, h('button', {class: 'primary'}, 'Show'))));
  input.select();
}
