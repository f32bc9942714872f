// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import type { ToolCallPhase } from '../api/types';
import { anAgent, aTask, aTree } from '../testing';
import { evidenceOf } from './claims';

const node = (...calls: [tool: string, command: string, phase: ToolCallPhase][]) =>
  aTree([aTask('t')], [anAgent('t', { toolCalls: calls.map(([tool, command, phase], i) => ({ id: `c${i}`, tool, phase, arguments: { command } })) })]).roots[0]!;

describe('a claim about tests', () => {
  it('is supported by a command that ran them', () => {
    expect(evidenceOf(node(['bash', 'cd x && go test ./...', 'Success']))).toEqual({ command: 'cd x && go test ./...', passed: true });
    expect(evidenceOf(node(['bash', 'python -m pytest -q 2>&1', 'Success']))?.passed).toBe(true);
  });

  it('is contradicted by the newest run', () => {
    expect(evidenceOf(node(['bash', 'npm test', 'Success'], ['bash', 'npm test', 'Failed'], ['bash', 'ls', 'Success']))).toEqual({ command: 'npm test', passed: false });
  });

  it.each([
    ['bash', 'echo 5 of 5 passed', 'Success'],
    ['bash', 'go test ./... | tail -5', 'Success'],
    ['bash', 'go test ./... ; true', 'Success'],
    ['bash', 'go test ./... || true', 'Success'],
    ['bash', 'go test ./...', 'Unknown'],
    ['bash', 'go test ./...', 'Running'],
    ['shell__bash', 'go test ./...', 'Success'],
    ['think', 'go test', 'Success'],
  ] as const)('is not supported by %s %s %s', (tool, command, phase) => expect(evidenceOf(node([tool, command, phase]))).toBeUndefined());

  it('is not supported by arguments that were left out', () => {
    const cut = aTree([aTask('t')], [anAgent('t', { toolCalls: [{ id: 'c', tool: 'bash', phase: 'Success', argumentsOmitted: true }] })]).roots[0]!;
    expect(evidenceOf(cut)).toBeUndefined();
  });
});
