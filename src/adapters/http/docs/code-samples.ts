import type { OpenAPIObject } from '@nestjs/swagger';

/** What a sample is made of. */
interface Operation {
  readonly parameters?: { in: string; name: string; schema: { example?: number; default?: number } }[];
  readonly requestBody?: { content: Record<string, { examples: Record<string, { value: object }> }> };
}

/** The document with `x-codeSamples`, which Redocly and Scalar show: each operation's example as a curl command. */
export function withCodeSamples(document: OpenAPIObject, baseUrl: string): OpenAPIObject {
  // By way of JSON, without shared objects: in YAML they would be aliases.
  const copy = JSON.parse(JSON.stringify(document)) as OpenAPIObject;
  for (const [path, item] of Object.entries(copy.paths)) {
    for (const operation of Object.values(item as Record<string, Operation>)) {
      const source = curl(baseUrl + path, operation);
      Object.assign(operation, { 'x-codeSamples': [{ lang: 'Shell', label: 'curl', source }] });
    }
  }
  return copy;
}

/** A request with the example of the path and the body, and the defaults of the query; the key is in `$KEY`. */
function curl(address: string, { parameters = [], requestBody }: Operation): string {
  let url = address;
  const query = new URLSearchParams();
  const options = ['-H "Authorization: Bearer $KEY"'];
  let prologue = '';
  for (const { in: place, name, schema } of parameters) {
    if (place === 'path') url = url.replace(`{${name}}`, String(schema.example));
    else if (schema.default !== undefined) query.set(name, String(schema.default));
    else if (name === 'Idempotency-Key') {
      prologue = '# Create it once: a retry must have the same.\nIDEMPOTENCY_KEY=$(openssl rand -hex 16)\n';
      options.push('-H "Idempotency-Key: $IDEMPOTENCY_KEY"');
    }
  }
  const [body] = Object.values(requestBody?.content['application/json']?.examples ?? {});
  if (body) options.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body.value))}`);
  if (query.size > 0) url += `?${query.toString()}`;
  return `${prologue}curl ${[quoted(url), ...options].join(' \\\n  ')}\n`;
}

/** A text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
