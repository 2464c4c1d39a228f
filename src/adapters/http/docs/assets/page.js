// Light or dark mode, as the system has it when the page is loaded.
document.documentElement.classList.toggle('dark-mode', matchMedia('(prefers-color-scheme: dark)').matches);

// Swagger UI stores the key in localStorage, for ever; here for the tab only.
Object.defineProperty(window, 'localStorage', { get: () => sessionStorage });

// Accessible names, where Swagger UI gives none or another than the visible one, and keyboard access to what scrolls.
const NAMES = {
  '#servers': 'Server',
  '#auth-bearer-value': 'Value:',
  '[aria-label="Apply credentials"]': 'Authorize',
  '[aria-label="Remove authorization"]': 'Logout',
  '.close-modal': 'Dismiss',
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
  '.parameters select': 'Value',
};
const root = document.getElementById('swagger-ui');
new MutationObserver(() => {
  for (const [selector, name] of Object.entries(NAMES)) {
    for (const control of root.querySelectorAll(selector)) control.ariaLabel = name;
  }
  for (const box of root.querySelectorAll('pre, .responses-inner')) box.tabIndex = 0;
  // The browser would suggest the key in other tabs.
  root.querySelector('#auth-bearer-value')?.setAttribute('autocomplete', 'off');
}).observe(root, { childList: true, subtree: true });

// Relative to the page, which a proxy may serve behind a path of its own.
const instance = new URL('v1', location);

/** This instance, and the servers of the document that are set to other addresses. */
function withInstance({ servers, ...spec }) {
  const others = servers
    .map(({ description, variables }) => ({ url: Object.values(variables)[0].default, description }))
    .filter(({ url }) => url !== '/v1' && url !== instance.href);
  return { ...spec, servers: [{ url: instance.pathname, description: 'This instance' }, ...others] };
}

SwaggerUIBundle({
  domNode: root,
  url: 'openapi.json',
  plugins: [
    {
      statePlugins: { spec: { wrapActions: { updateJsonSpec: (set) => (spec) => set(withInstance(spec)) } } },
      wrapComponents: {
        // JSON is printed with JavaScript's numbers: a body with an int64 that they may round is shown as text.
        responseBody(Original, { React }) {
          const isExact = ({ content }) => !/\d{16}/.test(content);
          return (props) => React.createElement(Original, isExact(props) ? props : { ...props, contentType: 'text' });
        },
        // `deepLinking` puts links into the buttons of operations, too, which hides those from screen readers.
        DeepLink(Original, { React }) {
          return (props) => React.createElement(Original, { ...props, enabled: false });
        },
      },
    },
  ],
  persistAuthorization: true,
  deepLinking: true,
  syntaxHighlight: { theme: 'tomorrow-night' },
  tryItOutEnabled: true,
  displayOperationId: true,
  defaultModelsExpandDepth: 0,
});
