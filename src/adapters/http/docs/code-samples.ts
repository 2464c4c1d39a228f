import type { OpenAPIObject } from '@nestjs/swagger';

type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']>;
type ParameterObject = Exclude<NonNullable<OperationObject['parameters']>[number], { $ref: string }>;
type RequestBodyObject = Exclude<NonNullable<OperationObject['requestBody']>, { $ref: string }>;

/** A request in a language: an item of `x-codeSamples`, which Redocly, Scalar and our own page show. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** What is sent, with the examples that the document has. */
interface Example {
  readonly method: string;
  readonly address: string;
  /** The JSON of the body; undefined if there is none. */
  readonly body: string | undefined;
  readonly hasIdempotencyKey: boolean;
}

/** What is said of an `Idempotency-Key`. */
const ONCE = 'Made once: a request that is sent again has the same.';

/** An operation's own example in curl, JavaScript and Python; the API key is in the environment as `KEY`. */
export function codeSamples(address: string, method: string, operation: OperationObject): CodeSample[] {
  const example = exampleOf(address, method, operation);
  return [
    { lang: 'Shell', label: 'curl', source: curl(example) },
    { lang: 'JavaScript', label: 'JavaScript', source: javascript(example) },
    { lang: 'Python', label: 'Python', source: python(example) },
  ];
}

/** Of the parameters those of the path, by their examples, and of the query those that have a default. */
function exampleOf(address: string, method: string, { parameters = [], requestBody }: OperationObject): Example {
  let path = address;
  const query = new URLSearchParams();
  for (const { in: place, name, schema } of parameters as ParameterObject[]) {
    const { example, default: value } = schema as { example?: string | number; default?: string | number };
    if (place === 'path') path = path.replace(`{${name}}`, String(example));
    if (place === 'query' && value !== undefined) query.set(name, String(value));
  }
  const examples = (requestBody as RequestBodyObject | undefined)?.content['application/json']?.examples ?? {};
  const [body] = Object.values(examples) as { value: unknown }[];
  return {
    method: method.toUpperCase(),
    address: query.size > 0 ? `${path}?${query.toString()}` : path,
    body: body && JSON.stringify(body.value),
    hasIdempotencyKey: (parameters as ParameterObject[]).some(({ name }) => name === 'Idempotency-Key'),
  };
}

function curl({ method, address, body, hasIdempotencyKey }: Example): string {
  const parts = [`curl ${quoted(address)}`, '-H "Authorization: Bearer $KEY"'];
  if (method !== (body === undefined ? 'GET' : 'POST')) parts.push(`-X ${method}`);
  if (hasIdempotencyKey) parts.push('-H "Idempotency-Key: $IDEMPOTENCY_KEY"');
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(body)}`);
  const key = hasIdempotencyKey ? `# ${ONCE}\nIDEMPOTENCY_KEY=$(openssl rand -hex 16)\n` : '';
  return `${key}${parts.join(' \\\n  ')}\n`;
}

function javascript({ method, address, body, hasIdempotencyKey }: Example): string {
  return lines(
    "import { env } from 'node:process';",
    '',
    hasIdempotencyKey && `// ${ONCE}\nconst idempotencyKey = crypto.randomUUID();\n`,
    `const response = await fetch('${address.replaceAll("'", "\\'")}', {`,
    `  method: '${method}',`,
    '  headers: {',
    '    Authorization: `Bearer ${env.KEY}`,',
    hasIdempotencyKey && "    'Idempotency-Key': idempotencyKey,",
    body !== undefined && "    'Content-Type': 'application/json',",
    '  },',
    body !== undefined && `  body: JSON.stringify(${body}),`,
    '});',
    '// As text: JSON.parse would round an id above 2^53.',
    'console.log(response.status, await response.text());',
  );
}

function python({ method, address, body, hasIdempotencyKey }: Example): string {
  return lines(
    body !== undefined && 'import json',
    'import os',
    'import urllib.request',
    hasIdempotencyKey && 'import uuid',
    '',
    hasIdempotencyKey && `# ${ONCE}\nidempotency_key = str(uuid.uuid4())\n`,
    'request = urllib.request.Request(',
    `    "${address}",`,
    `    method="${method}",`,
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["KEY"],',
    hasIdempotencyKey && '        "Idempotency-Key": idempotency_key,',
    body !== undefined && '        "Content-Type": "application/json",',
    '    },',
    // Texts and numbers are written in Python as they are in JSON.
    body !== undefined && `    data=json.dumps(${body}).encode(),`,
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.status, response.read().decode())',
  );
}

function lines(...all: (string | false)[]): string {
  return all.filter((line) => line !== false).join('\n') + '\n';
}

/** A text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
