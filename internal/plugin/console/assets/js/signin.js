// The form for the token of a viewer.
import {h, replace} from './dom.js';
import {setToken} from './session.js';

// showSignIn asks for a token, where the console accepts tokens of the cluster.
export function showSignIn(main, settings, message, done) {
  if (!settings.signIn) {
    replace(main, h('section', {class: 'empty'},
      h('h1', {}, 'Open the URL that the command printed'),
      h('p', {}, 'The token in the URL belongs to one tab of the browser. ',
        h('code', {}, 'kubectl nginx console'), ' prints the URL when it starts.')));
    return;
  }
  const input = h('input', {type: 'password', id: 'token', autocomplete: 'off', spellcheck: 'false', required: true});
  const form = h('form', {class: 'signin', onsubmit: (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    done();
  }},
  h('h1', {}, 'Sign in'),
  h('label', {for: 'token'}, 'Token of the cluster'), input,
  h('p', {class: 'hint'}, 'It stays in this tab, and every request uses its rights. ',
    h('code', {}, 'kubectl create token NAME'), ' creates one for a ServiceAccount.'),
  message && h('p', {role: 'alert', class: 'error'}, message),
  h('button', {class: 'primary'}, 'Sign in'));
  replace(main, form);
  input.focus();
}
