// The page: who views, and which view is shown.
import {h, replace} from './dom.js';
import {get, hasToken, setToken, takeToken} from './session.js';
import {showApplication} from './application.js';
import {showFleet} from './fleet.js';
import {startTheme} from './theme.js';
import {tick} from './text.js';

const main = document.getElementById('main');
const link = document.getElementById('link');
const shared = {settings: {}, session: {}, state: showLink, failed: showFailure};
let leave = () => {};

// showLink says whether the page is live.
function showLink(state, message = '') {
  link.className = `link ${state}`;
  link.textContent = state === 'live' ? 'Live' : 'Reconnecting';
  link.title = message;
}

// showFailure says why a view cannot be shown.
function showFailure(error) {
  if (error.status === 401) {
    showNoToken();
    return;
  }
  leave();
  leave = () => {};
  replace(main, h('section', {class: 'empty', role: 'alert'},
    h('h1', {}, error.status === 403 ? 'You may not see this' : 'This cannot be shown'),
    h('p', {class: 'words'}, error.message),
    h('p', {}, h('a', {href: '#/'}, 'All applications'))));
}

// showNoToken says how to get a token.
function showNoToken() {
  leave();
  leave = () => {};
  setToken('');
  replace(main, h('section', {class: 'empty'},
    h('h1', {}, 'Open the URL that the command printed'),
    h('p', {}, 'The token in the URL belongs to one tab of the browser. ',
      h('code', {}, 'kubectl nginx console'), ' prints the URL when it starts.')));
}

const applicationOf = (address) => /^#\/applications\/([^/]+)\/([^/]+)$/.exec(address);

// route shows the view of the address.
function route() {
  leave();
  leave = () => {};
  shared.shown = location.hash;
  const match = applicationOf(location.hash);
  leave = match
    ? showApplication(main, shared, decodeURIComponent(match[1]), decodeURIComponent(match[2]))
    : showFleet(main, shared);
}

async function start() {
  const session = hasToken() ? get('/api/session') : undefined;
  session?.catch(() => {}); // It is awaited below.
  shared.settings = await get('/api/settings');
  document.getElementById('cluster').textContent = shared.settings.cluster;
  if (!session) {
    showNoToken();
    return;
  }
  // The fleet needs no session, and the sooner its stream begins, the sooner it is there.
  if (!applicationOf(location.hash)) route();
  shared.session = await session;
  document.getElementById('user').textContent = shared.session.user;
  if (shared.shown !== location.hash) route();
}

takeToken();
startTheme(document.getElementById('theme'));
setInterval(() => { if (!document.hidden) tick(); }, 1000);
document.querySelector('.skip').addEventListener('click', (event) => {
  // The fragment of the address is the view.
  event.preventDefault();
  main.focus();
});
window.addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) {
    takeToken();
    start().catch(showFailure);
    return;
  }
  if (shared.session.edits || !applicationOf(location.hash)) {
    route();
    main.focus({preventScroll: true});
  }
});
start().catch(showFailure);
