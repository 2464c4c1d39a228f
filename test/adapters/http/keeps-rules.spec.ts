import { describe, expect, it } from '@jest/globals';
import { ArrayNotEmpty, IsString, ValidateBy, ValidateNested, validateSync } from 'class-validator';
import fc from 'fast-check';
import { NumberLiteral } from '../../../src/adapters/http/body/json-object.js';
import { fieldsOf, keepsRules } from '../../../src/adapters/http/pets/keeps-rules.js';
import { NewPetDto } from '../../../src/adapters/http/pets/new-pet.dto.js';

const VALUE = fc.oneof(
  fc.constantFrom<unknown>(
    'available',
    'pending',
    'sold',
    'Sold',
    '',
    ' ',
    'a\u0000',
    '\ud800',
    undefined,
    null,
    7,
    {},
    [],
  ),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.bigInt(),
  fc.anything(),
  fc.constant(new NumberLiteral('1.5')),
);

function bodyOf<Body extends object>(target: new () => Body, fields: object): Body {
  return Object.assign(new target(), fields);
}

describe('whether a body keeps the rules of its class', () => {
  const keepsAll = keepsRules(NewPetDto);

  it('is told as class-validator tells it', () => {
    fc.assert(
      fc.property(VALUE, VALUE, VALUE, (name, categoryId, status) => {
        const body = bodyOf(NewPetDto, { name, categoryId, status });
        expect(keepsAll(body)).toBe(validateSync(body).length === 0);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    [true, { name: 'Bella', categoryId: 1n }],
    [true, { name: 'Bella', categoryId: 1n, status: 'sold' }],
    [false, { name: 'Bella', categoryId: 1n, status: null }],
    [false, { name: 'Bella', categoryId: 1 }],
    [false, { categoryId: 1n, status: 'sold' }],
  ])('is %s of %p', (expected, fields) => {
    expect(keepsAll(bodyOf(NewPetDto, fields))).toBe(expected);
    expect(validateSync(bodyOf(NewPetDto, fields)).length === 0).toBe(expected);
  });

  it('is left to class-validator for rules of other kinds', () => {
    class Tag {
      @IsString()
      text!: string;
    }
    class Tagged {
      @ValidateNested()
      tags!: Tag[];
    }
    class Named {
      @IsString({ each: true })
      names!: string[];
    }
    class Sometimes {
      @IsString({ validateIf: () => false })
      name!: string;
    }
    class Later {
      @ValidateBy({ name: 'later', async: true, validator: { validate: () => Promise.resolve(true) } })
      name!: string;
    }
    const bodies = [
      bodyOf(Tagged, { tags: [bodyOf(Tag, { text: 'a' })] }),
      bodyOf(Named, { names: ['a'] }),
      bodyOf(Sometimes, { name: 1 }),
      bodyOf(Later, { name: 'a' }),
    ];
    for (const body of bodies) {
      expect(validateSync(body)).toEqual([]);
      expect(keepsRules(body.constructor as new () => object)(body)).toBe(false);
    }
  });

  it('is told of the fields that have a rule, each once', () => {
    class Twice {
      @IsString({ each: true })
      @ArrayNotEmpty()
      names!: string[];

      other?: string;
    }
    expect(fieldsOf(Twice)).toEqual(['names']);
    expect(fieldsOf(NewPetDto)).toEqual(['name', 'categoryId', 'status']);
  });
});
