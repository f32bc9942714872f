// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { aTask } from '../testing';
import { type ForkDraft, forkCommand, forkOf } from './fork';

const alice = { user: 'alice' };
const draft = (changed: Partial<ForkDraft> = {}): ForkDraft => ({ sequence: 12, role: '', modelProvider: '', model: '', instruction: '', modelReplies: 'Live', toolResults: 'Recorded', ...changed });
const forked = (spec = {}, subAgent = 'fix') => ({ task: aTask('fix', { spec }), subAgent, uid: 'the-agent' });

it('keeps what was recorded where nothing is typed', () => {
  const { metadata, spec } = forkOf(forked({ workspace: { git: { url: 'https://git.example.com/app.git' } } }), draft(), alice, 'abcde');
  expect(metadata).toEqual({ name: 'fix-fork-abcde', namespace: 'default' });
  expect(spec).toEqual({ type: 'Agent', fork: { uid: 'the-agent', task: 'fix', sequence: 12, modelReplies: 'Live', toolResults: 'Recorded' }, user: 'alice' });
});

it('replaces what is typed, and gives tools that run a workspace that begins anew', () => {
  const git = { url: 'https://git.example.com/app.git', ref: 'main', push: { branch: 'fix' } };
  const { spec } = forkOf(forked({ workspace: { git } }, 'fix-2'), draft({ model: 'large', instruction: 'Again.', toolResults: 'Live' }), alice, 'abcde');
  expect(spec).toEqual({
    type: 'Agent',
    fork: { uid: 'the-agent', subAgent: 'fix-2', sequence: 12, modelReplies: 'Live', toolResults: 'Live' },
    model: 'large',
    instruction: 'Again.',
    workspace: { git: { url: git.url, ref: 'main' } },
    user: 'alice',
  });
});

it('takes replies from the record only if nothing is replaced', () => {
  const replies = (changed: Partial<ForkDraft>) => forkOf(forked(), draft({ modelReplies: 'Recorded', ...changed }), alice, 'abcde').spec.fork.modelReplies;
  expect(replies({})).toBe('Recorded');
  for (const field of ['role', 'modelProvider', 'model', 'instruction']) expect(replies({ [field]: 'other' })).toBe('Live');
  expect(forkCommand(forked(), draft({ modelReplies: 'Recorded' }))).toBe('kubectl nestor fork fix -n default --at 12 --replies Recorded');
  expect(forkCommand(forked(), draft({ modelReplies: 'Recorded', model: 'large' }))).toBe('kubectl nestor fork fix -n default --at 12 --model large');
});

it('never takes over a volume claim', () => {
  const { spec } = forkOf(forked({ workspace: { persistentVolumeClaim: { claimName: 'files' } } }), draft({ toolResults: 'Live' }), alice, 'abcde');
  expect(spec).not.toHaveProperty('workspace');
});

it('has the command that makes the same fork, quoted for a shell', () => {
  expect(forkCommand(forked(), draft())).toBe('kubectl nestor fork fix -n default --at 12');
  expect(forkCommand(forked(), draft({ model: 'gpt-4.1', instruction: "Don't stop.", toolResults: 'ReadOnly' }))).toBe("kubectl nestor fork fix -n default --at 12 --model gpt-4.1 --instruction 'Don'\\''t stop.' --results ReadOnly");
});
