// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { ago, duration, firstWords, money, moneyByCurrency, pretty, slug, tokens } from './format';

it('tells durations as people do', () => {
  expect([850, 4200, 59_900, 65_000, 300_000, 7_380_000].map(duration)).toEqual(['850 ms', '4.2 s', '59 s', '1 min 05 s', '5 min', '2 h 03 min']);
});

it('shortens numbers, and says when a price is unknown', () => {
  expect([12, 999, 1200, 3_400_000].map(tokens)).toEqual(['12', '999', '1.2K', '3.4M']);
  expect([undefined, 0, 1234, 12_340, 2_500_000].map((micros) => money(micros))).toEqual(['unknown', '0', '0.0012', '0.012', '2.50']);
  expect([money(420_000, 'USD'), money(420_000, 'EUR'), money(undefined, 'USD')]).toEqual(['$0.42', '0.42 EUR', 'unknown']);
});

it('never adds two currencies', () => {
  expect(moneyByCurrency([{ costMicros: 400_000, currency: 'USD' }, { costMicros: 100_000, currency: 'EUR' }, { costMicros: 20_000, currency: 'USD' }])).toBe('$0.42 + 0.1 EUR');
});

it('makes names that the API takes', () => {
  for (const text of ['Write a note about the release!', 'Übergröße – prüfen', '???', 'x'.repeat(300), '-- --']) {
    expect(slug(text, 'abcde')).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
    expect(slug(text, 'abcde').length).toBeLessThanOrEqual(63);
  }
  expect(slug('Write a note about the release!', 'abcde')).toBe('write-a-note-about-the-abcde');
});

it('tells ages and leaves alone what is not JSON', () => {
  const now = Date.parse('2026-01-02T00:00:00Z');
  expect(['2026-01-01T23:59:30Z', '2026-01-01T23:55:00Z', '2026-01-01T20:00:00Z', '2025-12-30T00:00:00Z'].map((time) => ago(time, now))).toEqual(['now', '5 min', '4 h', '3 d']);
  expect(pretty('{"a":1}')).toBe('{\n  "a": 1\n}');
  expect(pretty('{"a":')).toBe('{"a":');
});

it.each([
  ['', ''],
  [' \n\n  One   line \nand another', 'One line'],
  ['a b', 'a b'],
  [`${'word '.repeat(30)}`, `${'word '.repeat(15)}word…`],
  ['x'.repeat(90), `${'x'.repeat(79)}…`],
  [`a ${'x'.repeat(90)}`, `a ${'x'.repeat(77)}…`],
  ['😀'.repeat(81), `${'😀'.repeat(79)}…`],
])('the first words of %j', (text, words) => {
  expect(firstWords(text)).toBe(words);
});
