// A plugin of Stryker: the kinds of code whose changes no test should notice.

/** Calls whose arguments are for people: log lines, findings of `petstore check`, the OpenAPI document. */
const TELLS = /^(?:log|warn|error|debug|verbose|fatal|ok|fail|Api\w+)$/;

/** A text in English; keywords of SQL are capitals. */
const SENTENCE = /\b[a-z]+,? [a-z]+,? [a-z]+\b/;

function isWording({ node, parentPath }) {
  if (node.type === 'Decorator') return TELLS.test(node.expression.callee?.name ?? '');
  const text = node.type === 'StringLiteral' ? node.value : node.quasis?.map(({ value }) => value.raw).join('0');
  if (text === undefined) return false;
  const { callee, arguments: given } = parentPath?.node ?? {};
  const isTold = given?.includes(node) && TELLS.test(callee?.property?.name ?? callee?.name ?? '');
  return isTold || SENTENCE.test(text);
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
