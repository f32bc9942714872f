// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { anAgent, aTask } from '../testing';
import { progressOf } from './progress';
import { buildTree } from './tree';

it('shows what a running tool reports', () => {
  const tool = buildTree([aTask('a', { spec: { type: 'Tool', tool: 'box__copy' }, status: { phase: 'Running', progress: '3/10 files' } })], [], []);
  expect(progressOf(tool.byName.get('a')!)).toBe('box__copy: 3/10 files');
  const done = buildTree([aTask('a', { spec: { type: 'Tool', tool: 'box__copy' }, status: { phase: 'Success', progress: '3/10 files' } })], [], []);
  expect(progressOf(done.byName.get('a')!)).toBeUndefined();
  const agent = anAgent('b', { phase: 'Active', toolCalls: [{ id: 'c1', tool: 'read', phase: 'Success' }, { id: 'c2', tool: 'box__copy', phase: 'Running', progress: '50%' }] });
  const sub = buildTree([aTask('b', { status: { phase: 'Running', subAgent: 'b' } })], [agent], []);
  expect(progressOf(sub.byName.get('b')!)).toBe('box__copy: 50%');
});
