// Light or dark mode, as the system is.
const dark = matchMedia('(prefers-color-scheme: dark)');
const toggleDark = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', toggleDark);
toggleDark();

// SwaggerModule's page has no viewport: a telephone would show it at the width of a desktop.
document.head.append(
  Object.assign(document.createElement('meta'), { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
);

let storage;
try {
  storage = sessionStorage;
} catch {
  // The browser blocks it: the key is not stored.
}
const KEY = 'petstore.authorized';

// A plugin of Swagger UI; the options of SwaggerModule.setup name it.
window.petstorePlugin = () => ({
  statePlugins: {
    // The key is stored for the tab only; Swagger UI's persistAuthorization would store it for ever.
    auth: {
      wrapActions: {
        persistAuthorizationIfNeeded:
          (_original, { authSelectors }) =>
          () => {
            storage?.setItem(KEY, JSON.stringify(authSelectors.authorized()));
          },
      },
    },
    configs: {
      wrapActions: {
        loaded:
          (original, { authActions }) =>
          (configs) => {
            original(configs);
            const authorized = storage?.getItem(KEY);
            if (authorized) authActions.restoreAuthorization({ authorized: JSON.parse(authorized) });
          },
      },
    },
  },
  wrapComponents: {
    // Swagger UI formats a body with JavaScript's numbers: one with an int64 that they would round is shown as it is.
    responseBody:
      (Original, { React }) =>
      (props) => {
        let exact = true;
        try {
          exact = JSON.stringify(JSON.parse(props.content)) === props.content;
        } catch {
          // Not JSON.
        }
        return React.createElement(Original, exact ? props : { ...props, contentType: 'text/plain' });
      },
    // A link inside a button cannot be reached by keyboard (WCAG 4.1.2).
    DeepLink:
      (_Original, { React }) =>
      ({ text }) =>
        React.createElement('span', null, text),
  },
});

// Names for controls without a visible one, none for those with one (WCAG 2.5.3), and keyboard access to what scrolls.
const NAMES = {
  '#servers': 'Server',
  '.close-modal': 'Dismiss',
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
};
const root = document.getElementById('swagger-ui');
const all = (selector) => root.querySelectorAll(selector);
new MutationObserver(() => {
  for (const button of all('button[aria-label]')) if (button.textContent) button.removeAttribute('aria-label');
  for (const input of all('input[id^="auth-"]')) {
    input.removeAttribute('aria-label');
    input.autocomplete = 'off';
  }
  for (const [selector, name] of Object.entries(NAMES)) {
    for (const control of all(selector)) control.ariaLabel ??= name;
  }
  for (const control of all('[data-param-name] :is(input, select, textarea)')) {
    control.ariaLabel ??= control.closest('[data-param-name]').dataset.paramName;
  }
  for (const box of all('.responses-inner, .table-container, pre')) box.tabIndex = 0;
}).observe(root, { childList: true, subtree: true });
