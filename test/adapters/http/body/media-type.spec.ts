import { describe, expect, it } from '@jest/globals';
import { isJsonInUtf8 } from '../../../../src/adapters/http/body/media-type.js';

describe('a media type', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json ; charset="UTF-8"',
    'application/json;\tCharset=Utf-8;',
    'application/json; profile="a;charset=latin1"; charset=utf-8',
    'application/json;;',
    'application/json; profile="\\"; charset=latin1"',
  ])('%s is JSON in UTF-8', (type) => {
    expect(isJsonInUtf8(type)).toBe(true);
  });

  it.each([
    '',
    'application/jsonp',
    'application/json x',
    'text/json',
    'application/json, text/plain',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset=utf-16; charset=utf-8',
    'application/json; charset=utf-8; charset=utf-8',
    'application/json; charset=""',
    'application/json; charset',
    'application/json; charset=',
    'application/json; charset = utf-8',
    'application/json; charset="utf-8',
    'application/json; charset=utf-8"',
  ])('%s is not', (type) => {
    expect(isJsonInUtf8(type)).toBe(false);
  });
});
