// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { aTask, anAgent } from '../testing';
import { partOf, progressOf } from './progress';
import { buildTree } from './tree';

const nodeOf = (...of: Parameters<typeof buildTree>) => buildTree(...of).roots[0]!;

it('finds what running tools report', () => {
  const task = aTask('t', { status: { phase: 'Running' } });
  const calls = [
    { id: 'c1', tool: 'fs__scan', phase: 'Running' as const, progress: '3/10 reading files' },
    { id: 'c2', tool: 'web__get', phase: 'Running' as const, progress: 'waiting' },
    { id: 'c3', tool: 'old', phase: 'Success' as const, progress: '10/10' },
  ];
  expect(progressOf(nodeOf([task], [anAgent('t', { toolCalls: calls })], []))).toEqual([
    { call: 'c1', tool: 'fs__scan', text: '3/10 reading files', part: 0.3 },
    { call: 'c2', tool: 'web__get', text: 'waiting', part: undefined },
  ]);
  expect(progressOf(nodeOf([aTask('t', { status: { phase: 'Success' } })], [anAgent('t', { toolCalls: calls })], []))).toEqual([]);
  const tool = aTask('t', { spec: { type: 'Tool', tool: 'fs__scan' }, status: { phase: 'Running', progress: '30%' } });
  expect(progressOf(nodeOf([tool], [], []))).toEqual([{ call: 't', tool: 'fs__scan', text: '30%', part: 0.3 }]);
});

it.each([
  ['1/0', undefined],
  ['12', undefined],
  ['250%', 1],
  ['2026/01 is done', 1],
  ['3/10x', undefined],
  ['no part', undefined],
])('%s is %s', (text, part) => expect(partOf(text)).toBe(part));
