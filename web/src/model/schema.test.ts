// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { argumentsOf, fieldsOf, parseArguments } from './schema';

it('makes fields from a schema, the required ones first', () => {
  const fields = fieldsOf({
    type: 'object',
    required: ['path'],
    properties: {
      limit: { type: ['integer', 'null'], default: 5, description: 'How many.' },
      deep: { type: 'boolean' },
      mode: { type: 'string', enum: ['fast', 'slow'] },
      tags: { type: 'array', items: { type: 'string' } },
      options: { type: 'object', properties: {} },
      either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      path: { type: 'string' },
    },
  })!;
  expect(fields.map(({ name, kind, required }) => [name, kind, required])).toEqual([
    ['path', 'text', true], ['limit', 'number', false], ['deep', 'boolean', false], ['mode', 'choice', false], ['tags', 'lines', false], ['options', 'json', false], ['either', 'json', false],
  ]);
  expect(fields[1]).toMatchObject({ initial: '5', description: 'How many.' });
});

it.each([[undefined], [null], ['x'], [[]], [{ oneOf: [] }], [{ $ref: '#/x' }], [{ properties: [] }], [{ required: ['x'] }]])('has no fields for %j', (schema) => {
  expect(fieldsOf(schema)).toBeUndefined();
});

it('survives schemas that are not schemas', () => {
  expect(fieldsOf({ properties: { a: null, b: { type: 7, enum: [1] }, c: { type: 'array', items: 5 } }, required: 'a' })!.map(({ kind }) => kind)).toEqual(['json', 'json', 'json']);
  expect(fieldsOf({})).toEqual([]);
});

it('makes arguments with the types of the schema, and leaves out what is empty', () => {
  const fields = fieldsOf({ properties: { n: { type: 'number' }, b: { type: 'boolean' }, l: { type: 'array', items: { type: 'string' } }, j: {}, t: { type: 'string' }, e: { type: 'string' } }, required: ['e'] })!;
  expect(argumentsOf(fields, { n: ' 1.5', b: 'false', l: 'a\n\nb\n', j: '{"x": [1]}', t: ' as it is ' })).toEqual({ arguments: { n: 1.5, b: false, l: ['a', 'b'], j: { x: [1] }, t: ' as it is ', e: '' }, problems: {} });
  expect(argumentsOf(fields, { e: '' }).arguments).toEqual({ e: '' });
});

it('says what is wrong', () => {
  const fields = fieldsOf({ properties: { n: { type: 'number' }, j: {}, r: { type: 'integer' } }, required: ['r'] })!;
  expect(argumentsOf(fields, { n: '1e', j: '{' }).problems).toEqual({ n: 'This is not a number.', j: 'This is not JSON.', r: 'A value is required.' });
  // The browser would send 9007199254740992.
  const rounded = expect.stringContaining('A browser rounds') as string;
  expect(argumentsOf(fields, { n: '9007199254740993', j: '[{"n": 9007199254740993}]', r: '1' }).problems).toMatchObject({ n: rounded, j: rounded });
  expect(() => parseArguments('[1]')).toThrow('must be a JSON object');
  expect(parseArguments('')).toEqual({});
});

it('takes a property named __proto__ as a property', () => {
  const { arguments: made } = argumentsOf([{ name: '__proto__', kind: 'text', required: true, initial: '' }], { ['__proto__']: 'x' });
  expect(JSON.stringify(made)).toBe('{"__proto__":"x"}');
});
