// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import type { Chat } from '../api/types';
import { aTask, aTree } from '../testing';
import { sumByRole } from './ChatUsage';

const usage = (promptTokens: number, costMicros?: number) => ({ promptTokens, completionTokens: 0, totalTokens: promptTokens, modelCalls: 1, costMicros });
const chat = (costMicros?: number) => ({ metadata: { name: 'chat' }, spec: {}, status: { usage: usage(100, costMicros) } }) as unknown as Chat;
const costs = (of: Chat, ...tasks: (number | undefined)[]) =>
  Object.fromEntries(
    sumByRole(of, aTree(tasks.map((_, i) => aTask(`t${i}`, { spec: { role: i < 2 ? 'coder' : 'tester' } })), [], Object.fromEntries(tasks.map((cost, i) => [`t${i}`, { own: usage(10, cost) }]))).roots).map(({ role, own }) => [role, own.costMicros]),
  );

it('divides the cost by role; what belongs to no task is the cost of the orchestrator', () => {
  expect(costs(chat(1000), 100, 200, 50)).toEqual({ orchestrator: 650, coder: 300, tester: 50 });
});

it('knows no cost of a role with a call without a price, nor of the orchestrator then', () => {
  expect(costs(chat(undefined), 100, undefined, 50)).toEqual({ orchestrator: undefined, coder: undefined, tester: 50 });
  expect(costs(chat(undefined), undefined, 100)).toMatchObject({ coder: undefined });
});
