import type { EntitySchemaColumnOptions } from 'typeorm';

/** An int64 column: exact, whatever the driver makes of it. */
export const int64: EntitySchemaColumnOptions = {
  type: 'bigint',
  transformer: {
    from: (value: string | bigint | null) => (value === null ? null : BigInt(value)),
    to: (value: bigint | null | undefined) => value?.toString() ?? value,
  },
};

/** A moment, as ISO 8601 in UTC with milliseconds: 24 characters that sort by time on every engine. */
export const instant: EntitySchemaColumnOptions = {
  type: 'varchar',
  length: 24,
  transformer: {
    from: (value: string | null) => (value === null ? null : new Date(value)),
    to: (value: Date | null | undefined) => value?.toISOString() ?? value,
  },
};
