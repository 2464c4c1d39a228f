/** Starts Swagger UI, in light or dark as the system is, with what it lacks: the comments in it say what, and why. */
export const START = `const dark = matchMedia('(prefers-color-scheme: dark)');
const darken = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', darken);
darken();

// Swagger UI makes a body pretty by way of JavaScript's numbers, which rounds an int64: one that would not survive is shown as it came.
const exactBodies = {
  wrapComponents: {
    responseBody: (Original, { React }) => (props) => {
      let exact = true;
      try {
        exact = JSON.stringify(JSON.parse(props.content)) === props.content;
      } catch {}
      return React.createElement(Original, exact ? props : { ...props, contentType: 'text/plain' });
    },
  },
};

// The servers are shown by the addresses that are called, this instance among them and first, and what is not set is said.
const here = new URL('v1', location.href).href;
const unset = [];
function shownServers(servers) {
  const others = servers.flatMap(({ url, description, variables = {} }) => {
    const address = url.replace(/\\{(\\w+)\\}/g, (whole, name) => variables[name]?.default ?? whole);
    if (address !== '/v1') return [{ url: new URL(address, here).href, description }];
    unset.push(description);
    return [];
  });
  const mine = others.find(({ url }) => url === here) ?? { url: here, description: 'This instance' };
  return [mine, ...others.filter((server) => server !== mine)];
}
const callableServers = {
  statePlugins: {
    spec: {
      wrapActions: {
        updateSpec: (update) => (text) => {
          const document = JSON.parse(text);
          return update(JSON.stringify({ ...document, servers: shownServers(document.servers) }));
        },
      },
    },
  },
  wrapComponents: {
    Servers: (Original, { React }) => (props) => {
      const names = unset.join(' or ').toLowerCase();
      const settings = unset.map((name) => name.toUpperCase() + '_BASE_URL').join(', ');
      const note = 'No address of ' + names + ' is set (' + settings + ').';
      return React.createElement(
        React.Fragment,
        null,
        React.createElement(Original, props),
        unset.length > 0 && React.createElement('p', { className: 'servers-note' }, note),
      );
    },
  },
};

// Swagger UI knows no x-codeSamples: they are shown above the answers, with the address of the server that is chosen.
const LANGUAGES = { Shell: 'bash', JavaScript: 'javascript', Python: 'python' };
const codeSamples = {
  components: {
    CodeSamples: ({ React, getComponent, specSelectors, oas3Selectors, path, method }) => {
      const HighlightCode = getComponent('HighlightCode', true);
      const address = oas3Selectors.selectedServer() || here;
      const samples = specSelectors.specJson().getIn(['paths', path, method, 'x-codeSamples']).toJS();
      return samples.map(({ lang, label, source }) =>
        React.createElement(
          'details',
          { className: 'code-sample', key: label },
          React.createElement('summary', null, 'Example in ' + label),
          React.createElement(
            HighlightCode,
            { language: LANGUAGES[lang], canCopy: true },
            source.replace(/https?:\\S+\\/v1(?=\\/)/, () => address),
          ),
        ),
      );
    },
  },
  wrapComponents: {
    responses: (Original, { React, getComponent }) => (props) =>
      React.createElement(
        React.Fragment,
        null,
        React.createElement(getComponent('CodeSamples', true), { React, path: props.path, method: props.method }),
        React.createElement(Original, props),
      ),
  },
};

// The key is kept for as long as the tab is open, or if its reader asks for it, until it is logged out.
const KEY = 'petstore.authorized';
let keep = false;
let authorized = null;
try {
  authorized = localStorage.getItem(KEY);
  keep = authorized !== null;
  authorized ??= sessionStorage.getItem(KEY);
  // Where earlier versions of this page left it.
  localStorage.removeItem('authorized');
} catch {}
function store() {
  try {
    for (const place of [localStorage, sessionStorage]) place.removeItem(KEY);
    if (authorized !== null) (keep ? localStorage : sessionStorage).setItem(KEY, authorized);
  } catch {}
}
const keptKey = {
  statePlugins: {
    auth: {
      wrapActions: {
        persistAuthorizationIfNeeded: (_original, { authSelectors }) => () => {
          const keys = authSelectors.authorized().toJS();
          authorized = Object.keys(keys).length > 0 ? JSON.stringify(keys) : null;
          store();
        },
      },
    },
  },
  wrapComponents: {
    HttpAuth: (Original, { React }) => (props) => {
      const onChange = ({ target }) => {
        keep = target.checked;
        store();
      };
      const box = React.createElement('input', { type: 'checkbox', defaultChecked: keep, onChange });
      return React.createElement(
        React.Fragment,
        null,
        React.createElement(Original, props),
        React.createElement('label', { className: 'keep-key' }, box, 'Keep the key when this tab is closed, until I log out'),
      );
    },
  },
};

// What everybody sees of a control is what those who hear it are told; and there is no link in a button.
const accessible = {
  wrapComponents: {
    Button: (Original, { React }) => ({ 'aria-label': label, ...props }) =>
      React.createElement(Original, typeof props.children === 'string' ? props : { 'aria-label': label, ...props }),
    Input: (Original, { React }) => ({ 'aria-label': label, ...props }) =>
      React.createElement(Original, props.id?.startsWith('auth-') ? { ...props, autoComplete: 'off', spellCheck: false } : { 'aria-label': label, ...props }),
    DeepLink: (_Original, { React }) => ({ text }) => React.createElement('span', null, text),
  },
};
const NAMES = {
  '#servers': 'Server',
  '.close-modal': 'Dismiss',
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
};
const root = document.getElementById('swagger-ui');
new MutationObserver(() => {
  const name = (control, text) => control.hasAttribute('aria-label') || control.setAttribute('aria-label', text);
  for (const [selector, text] of Object.entries(NAMES)) {
    for (const control of root.querySelectorAll(selector)) name(control, text);
  }
  for (const control of root.querySelectorAll('[data-param-name] :is(input, select, textarea)')) {
    name(control, control.closest('[data-param-name]').dataset.paramName);
  }
  // Where it is narrow they scroll, by the keyboard too.
  for (const box of root.querySelectorAll('.responses-inner, .table-container, pre')) box.tabIndex = 0;
}).observe(root, { childList: true, subtree: true });

const ui = SwaggerUIBundle({
  url: 'openapi.json',
  domNode: root,
  plugins: [exactBodies, callableServers, codeSamples, keptKey, accessible],
  onComplete() {
    if (authorized !== null) ui.authActions.restoreAuthorization({ authorized: JSON.parse(authorized) });
  },
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  displayOperationId: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
});
`;
