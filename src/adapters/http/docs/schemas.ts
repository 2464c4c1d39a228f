import type { Type } from '@nestjs/common';
import { getSchemaPath, type OpenAPIObject, type ReferenceObject, type SchemaObject } from '@nestjs/swagger';

/** The schemas of the document, besides its DTOs: `components.schemas`. */
export const schemas: Record<string, SchemaObject> = {};

/** Adds a schema to the document, and returns a reference to it. */
export function namedSchema(name: string, schema: SchemaObject): ReferenceObject {
  schemas[name] = schema;
  return { $ref: `#/components/schemas/${name}` };
}

/** Adds the schema of an array of these. */
export function listOf(items: ReferenceObject, name: string, description: string, maxItems: number): ReferenceObject {
  return namedSchema(name, { type: 'array', description, items, maxItems });
}

/** The tags of the document. */
export const tags: NonNullable<OpenAPIObject['tags']> = [];

/** Adds a tag to the document, and returns its name. */
export function namedTag(name: string, description: string): string {
  tags.push({ name, description });
  return name;
}

export const INT64 = { type: 'integer', format: 'int64' } as const;

/** Adds the schema of what is stored of a DTO: all of its fields, these ones, and an id. */
export function stored(name: string, description: string, dto: Type, fields: SchemaObject['properties'] = {}) {
  const text = 'Unique identifier, assigned by the service. A later one is larger.';
  const properties = { ...fields, id: { ...INT64, description: text, minimum: 1, example: 1 } };
  const own = { type: 'object', required: Object.keys(properties), properties };
  return namedSchema(name, { description, allOf: [{ $ref: getSchemaPath(dto) }, own] });
}

const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f';

/** The schema of a property with the rule `IsText`, as far as JSON Schema can express it. */
export function text(maxLength: number) {
  const pattern = `^[^${CONTROLS}]*[^\\s${CONTROLS}][^${CONTROLS}]*$`;
  return { type: 'string', minLength: 1, maxLength, pattern } as const;
}
