// Light or dark mode, as the system has it.
document.documentElement.classList.toggle('dark-mode', matchMedia('(prefers-color-scheme: dark)').matches);

// SwaggerModule's page has no viewport: a telephone would show it at the width of a desktop.
document.head.append(
  Object.assign(document.createElement('meta'), { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
);

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
  for (const box of root.querySelectorAll('pre, .responses-inner, .table-container')) box.tabIndex = 0;
  // The browser would suggest the key in other tabs.
  root.querySelector('#auth-bearer-value')?.setAttribute('autocomplete', 'off');
}).observe(root, { childList: true, subtree: true });
