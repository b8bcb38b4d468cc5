// Signing in with a token of the cluster, and signing out.
import {h, replace} from './dom.js';
import {forget, hasToken, setToken} from './session.js';

const COMMAND = 'kubectl create token NAME -n NAMESPACE';
const EXPIRED = 'The API server does not accept the token. It may have expired.';

// showSignIn shows the form. It calls signedIn with a token that is not verified yet.
export function showSignIn(main, refused, signedIn) {
  document.title = 'Sign in – nginx console';
  const token = h('input', {
    id: 'token', type: 'password', class: 'mono', required: true, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off',
    'aria-describedby': 'token-help',
  });
  const submit = (event) => {
    event.preventDefault();
    setToken(token.value.replace(/\s+/g, ''));
    token.value = '';
    signedIn();
  };
  replace(main, h('form', {class: 'sign-in', onsubmit: submit},
    h('h1', {}, 'Sign in'),
    refused && h('p', {class: 'error', role: 'alert'}, EXPIRED),
    h('label', {for: 'token'}, 'Token of the cluster'), token,
    h('div', {class: 'buttons'}, h('button', {class: 'primary'}, 'Sign in')),
    h('div', {id: 'token-help', class: 'help'},
      h('p', {}, 'The console has no rights of its own: you see and change what the user of the token may. To create a token of a ServiceAccount:'),
      h('code', {class: 'command'}, COMMAND),
      h('p', {}, 'The token stays in this tab until you sign out or close it.'))));
  token.focus();
}

// startSignOut lets a button sign out, and returns a function that shows the button while the page has a token.
export function startSignOut(button) {
  button.addEventListener('click', () => {
    forget();
    // A new document has nothing of the viewer before, neither data nor filters.
    history.replaceState(null, '', '#/');
    location.reload();
  });
  return () => { button.hidden = !hasToken(); };
}
