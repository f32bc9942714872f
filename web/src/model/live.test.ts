// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import type { Task } from '../api/types';
import { aTask } from '../testing';
import { liveAgents } from './live';

const task = (name: string, phase: NonNullable<Task['status']>['phase'], startTime: string, spec: Partial<Task['spec']> = {}) => aTask(name, { spec, status: { phase, startTime, subAgent: `${name}-agent` } });

describe('the sub-agents that a page follows', () => {
  it('are the running ones', () => {
    expect(liveAgents([task('b', 'Running', '1'), task('a', 'Running', '2'), task('c', 'Success', '1'), task('d', 'Pending', ''), task('e', 'Waiting', '1'), task('f', 'Running', '1', { type: 'Tool', tool: 'x' })])).toEqual(['a-agent', 'b-agent']);
  });

  it('are the newest ones if there are many', () => {
    const many = Array.from({ length: 20 }, (_, i) => task(`t${i}`, 'Running', `2026-01-01T00:00:${String(i).padStart(2, '0')}Z`));
    expect(liveAgents(many)).toHaveLength(8);
    expect(liveAgents(many)).toContain('t19-agent');
    expect(liveAgents(many)).not.toContain('t11-agent');
    expect(liveAgents([...many].reverse())).toEqual(liveAgents(many));
  });

  it('have agents', () => expect(liveAgents([aTask('x', { status: { phase: 'Running' } })])).toEqual([]));
});
