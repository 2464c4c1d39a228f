import type { ReferenceObject, SchemaObject } from '@nestjs/swagger';

/** The schemas of the document, besides its DTOs: `components.schemas`. */
export const schemas: Record<string, SchemaObject> = {};

/** Adds a schema to the document, and returns a reference to it. */
export function namedSchema(name: string, schema: SchemaObject): ReferenceObject {
  schemas[name] = schema;
  return { $ref: `#/components/schemas/${name}` };
}

export const INT64 = { type: 'integer', format: 'int64' } as const;

// Not `\u0000`, which the regular expressions of PHP (PCRE2) and Go (RE2) reject.
const CONTROLS = '\\x00-\\x1f\\x7f-\\x9f';

/** The schema of a property with the rule `IsText`, as far as JSON Schema can express it. */
export function text(maxLength: number) {
  const pattern = `^[^${CONTROLS}]*[^\\s${CONTROLS}][^${CONTROLS}]*$`;
  return { type: 'string', minLength: 1, maxLength, pattern } as const;
}
