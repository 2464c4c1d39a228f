// A plugin of Stryker: the kinds of code whose changes no test should notice.

/** Calls whose arguments are texts for people: log lines, findings of `petstore check`, the OpenAPI document. */
const TELLS = /^(?:log|warn|error|debug|verbose|fatal|ok|fail|Api\w+)$/;

function isWording({ node, parentPath }) {
  if (node.type === 'Decorator') return TELLS.test(node.expression.callee?.name ?? '');
  if (!['StringLiteral', 'TemplateLiteral'].includes(node.type)) return false;
  const { type, callee, arguments: given } = parentPath?.node ?? {};
  if (!given?.includes(node)) return false;
  const name = callee?.property?.name ?? callee?.name ?? '';
  return type === 'NewExpression' ? /(?:Error|Unavailable|Taken|Identified)$/.test(name) : TELLS.test(name);
}

export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'wording',
    value: {
      shouldIgnore: (path) => (isWording(path) ? 'The wording of a message or of the documentation.' : undefined),
    },
  },
];
