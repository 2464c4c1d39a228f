/** A field of the request body of createPet, its values as JSON texts. */
export interface Field {
  readonly name: string;
  readonly required: boolean;
  /** What a pet has that was created without it. */
  readonly default?: string;
  /** Each is stored and returned as given. */
  readonly valid: readonly string[];
  /** Each is rejected with `invalid_field`. */
  readonly invalid: readonly string[];
}

const text = (value: string) => JSON.stringify(value);

/** Every field of NewPet. A test that applies to every field derives from them. */
export const FIELDS: readonly Field[] = [
  {
    name: 'name',
    required: true,
    valid: ['Bella', 'Zo\u00eb', 'Zoe\u0308', ' Bella ', '\u{1f436}'.repeat(255), '👩‍👩‍👧‍👦', `'"\\%_?:$1\``].map(text),
    invalid: ['null', '1', '[]', '{}', '""', '" "', '"\\u0000"', '"\\u0085"', '"\\ud800"', text('x'.repeat(256))],
  },
  {
    name: 'categoryId',
    required: true,
    valid: ['42', '0', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'],
    invalid: ['null', '"1"', 'true', '[]', '{}', '1.5', '1e-1', '1e99', '9223372036854775808', '-9223372036854775809'],
  },
  {
    name: 'status',
    required: false,
    default: '"available"',
    valid: ['available', 'pending', 'sold'].map(text),
    invalid: ['null', '1', 'true', '[]', '{}', '""', '"Sold"', '" sold"', '"lost"'],
  },
];

/** The JSON text of a NewPet with the first valid value of each required field, and these texts in place of or besides them. */
export function newPetJson(values: Readonly<Record<string, string>> = {}): string {
  const required = FIELDS.filter((field) => field.required).map((field) => [field.name, field.valid[0] as string]);
  const members = Object.entries({ ...Object.fromEntries(required), ...values } as Record<string, string>);
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`;
}

/** The JSON text of the pet that a NewPet with these texts becomes. */
export function petJson(id: bigint | number, values: Readonly<Record<string, string>> = {}): string {
  const members = FIELDS.map((field): [string, string | undefined] => [
    field.name,
    values[field.name] ?? (field.required ? field.valid[0] : field.default),
  ]);
  const present = members.filter(([, value]) => value !== undefined);
  return `{"id":${id},${present.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`;
}
