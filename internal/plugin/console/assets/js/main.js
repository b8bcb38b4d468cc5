// The page: who views, and which view is shown.
import {h, replace} from './dom.js';
import {forget, get, hasToken, namespace, setToken, takeToken} from './session.js';
import {showApplication} from './application.js';
import {showFleet} from './fleet.js';
import {showSignIn, startSignOut} from './signin.js';
import {startTheme} from './theme.js';
import {tick} from './text.js';

const main = document.getElementById('main');
const link = document.getElementById('link');
const user = document.getElementById('user');
const shared = {settings: {}, session: {}, state: showLink, failed: showFailure, interrupted};
let leave = () => {};
let given = takeToken();

// showLink says whether the page is live.
function showLink(state, message = '') {
  link.className = `link ${state}`;
  link.textContent = state === 'live' ? 'Live' : 'Reconnecting';
  link.title = message;
}

// end ends the view.
function end() {
  leave();
  leave = () => {};
}

// interrupted shows something in place of the view, which calls its argument to show the view again.
function interrupted(show) {
  end();
  link.textContent = '';
  show(route);
}

// showFailure says why a view cannot be shown.
function showFailure(error) {
  if (error.status === 401) {
    showUnknown(error.reason !== 'NoToken');
    return;
  }
  end();
  replace(main, h('section', {class: 'empty', role: 'alert'},
    h('h1', {}, error.status === 403 ? 'You may not see this' : 'This cannot be shown'),
    h('p', {class: 'words'}, error.message),
    h('p', {}, h('a', {href: '#/'}, 'All applications'))));
}

// showUnknown says how to get a token, or lets the viewer sign in.
function showUnknown(refused) {
  forget();
  shared.session = {};
  user.textContent = '';
  showSignOut();
  interrupted(() => (shared.settings.signIn ? showSignIn(main, refused, begin) : showNoToken()));
}

// showNoToken says how to get a token.
function showNoToken() {
  replace(main, h('section', {class: 'empty'},
    h('h1', {}, 'Open the URL that the command printed'),
    h('p', {}, 'The token in the URL belongs to one tab of the browser. ',
      h('code', {}, 'kubectl nginx console'), ' prints the URL when it starts.')));
}

const applicationOf = (address) => /^#\/applications\/([^/]+)\/([^/]+)$/.exec(address);

// route shows the view of the address.
function route() {
  end();
  shared.shown = location.hash;
  const match = applicationOf(location.hash);
  leave = match
    ? showApplication(main, shared, decodeURIComponent(match[1]), decodeURIComponent(match[2]))
    : showFleet(main, shared);
}

// readSettings reads what the page needs before the viewer is known. Where viewers sign in, a link must not do it for them.
async function readSettings() {
  shared.settings = await get('/api/settings');
  if (shared.settings.signIn) shared.settings.namespace = namespace();
  else if (given) setToken(given);
  given = '';
  document.getElementById('cluster').textContent = shared.settings.cluster;
}

async function start() {
  // The session does not depend on the settings, unless the token is new.
  let session = hasToken() && !given ? get('/api/session') : undefined;
  session?.catch(() => {}); // It is awaited below.
  await readSettings();
  if (!hasToken() && !shared.settings.signIn) {
    showUnknown(false);
    return;
  }
  session ??= get('/api/session');
  session.catch(() => {});
  // The fleet needs no session, and the sooner its stream begins, the sooner it is there.
  if (!applicationOf(location.hash) && !shared.settings.signIn) route();
  shared.session = await session;
  user.textContent = shared.session.user;
  showSignOut();
  if (shared.shown !== location.hash) route();
}

function begin() {
  shared.shown = undefined;
  start().catch(showFailure);
}

startTheme(document.getElementById('theme'));
const signOut = startSignOut(document.getElementById('sign-out'));
// The token of a command ends with the command.
const showSignOut = () => { if (shared.settings.signIn) signOut(); };
setInterval(() => { if (!document.hidden) tick(); }, 1000);
document.querySelector('.skip').addEventListener('click', (event) => {
  // The fragment of the address is the view.
  event.preventDefault();
  main.focus();
});
window.addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) {
    given = takeToken();
    begin();
    return;
  }
  if (shared.session.edits || !applicationOf(location.hash) && !shared.settings.signIn) {
    route();
    main.focus({preventScroll: true});
  }
});
begin();
