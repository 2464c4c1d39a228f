import type { OpenAPIObject } from '@nestjs/swagger';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Exclude<Schemas[string], { $ref: string }>;

/** A reference to a schema of the document. */
export interface Reference {
  readonly $ref: string;
}

/** The schemas of the document, `components.schemas`. */
export const schemas: Schemas = {};

/** Adds a schema to the document, and returns a reference to it. */
export function namedSchema(name: string, schema: Schema): Reference {
  schemas[name] = schema;
  return { $ref: `#/components/schemas/${name}` };
}

export const INT64 = { type: 'integer', format: 'int64' } as const;

const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f';

/** The schema of a property with the rule `IsText`, as far as JSON Schema can express it. */
export function text(maxLength: number) {
  const pattern = `^[^${CONTROLS}]*[^\\s${CONTROLS}][^${CONTROLS}]*$`;
  return { type: 'string', minLength: 1, maxLength, pattern } as const;
}
