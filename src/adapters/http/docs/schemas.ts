import type { Type } from '@nestjs/common';
import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';

/** The schemas of a document, by name. */
export type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** A reference to a part of the document. */
export interface Reference {
  readonly $ref: string;
  readonly unevaluatedProperties?: false;
}

type Schema = Exclude<Schemas[string], Reference>;

/** The schemas of the document in the order in which they were first referred to: classes, and what is written out. */
const described = new Map<string, Type | Schema>();

/** A reference to the schema of a class with `@ApiSchema` and `@ApiProperty`, which it makes part of the document; so does it what the class extends. */
export function schemaRef(type: Type): Reference {
  const parent = parentOf(type);
  if (parent) schemaRef(parent);
  described.set(nameOf(type), type);
  return { $ref: getSchemaPath(type) };
}

/** A reference to the schema of a class, for an object that has no other fields. What extends the class may have some. */
export function closedSchemaRef(type: Type): Reference {
  return { ...schemaRef(type), unevaluatedProperties: false };
}

/** A reference to a schema that is written out, which it makes part of the document. */
export function namedSchema(name: string, schema: Schema): Reference {
  described.set(name, schema);
  return { $ref: getSchemaPath(name) };
}

/** The classes among the schemas of the document. */
export function describedClasses(): Type[] {
  return [...described.values()].filter((each) => typeof each === 'function');
}

/** All schemas of the document, of which @nestjs/swagger has made those of the classes. */
export function describedSchemas(made: Schemas): Schemas {
  const schemas = [...described].map(([name, each]) => [name, typeof each === 'function' ? ofClass(each, made) : each]);
  return Object.fromEntries(schemas) as Schemas;
}

/** The schema of a class. Of one that extends another: a reference to that one's, and what this one has or requires besides. */
function ofClass(type: Type, made: Schemas): Schema {
  const { description, required = [], properties = {}, ...rest } = made[nameOf(type)] as Schema;
  // What refers to another schema has no type of its own.
  for (const property of Object.values(properties)) if ('allOf' in property) delete property.type;
  const parent = parentOf(type);
  if (!parent) return { type: rest.type, description, required, ...rest, properties };
  const inherited = made[nameOf(parent)] as Schema;
  const isOwn = (name: string) => JSON.stringify(properties[name]) !== JSON.stringify(inherited.properties?.[name]);
  const own = Object.fromEntries(Object.entries(properties).filter(([name]) => isOwn(name)));
  const besides = required.filter((name) => !inherited.required?.includes(name));
  besides.sort((a, b) => Number(b in own) - Number(a in own));
  return { description, allOf: [schemaRef(parent), { type: rest.type, required: besides, ...rest, properties: own }] };
}

function parentOf(type: Type): Type | undefined {
  const parent = Object.getPrototypeOf(type) as Type;
  return parent.prototype === undefined ? undefined : parent;
}

function nameOf(type: Type): string {
  return getSchemaPath(type).slice(getSchemaPath('').length);
}
