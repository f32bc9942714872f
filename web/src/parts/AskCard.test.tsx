// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import type { Ask } from '../api/types';
import type { Run } from '../model/runs';
import { aMessage } from '../testing';
import { askerOf, postedQuestion, requestOf } from './AskCard';

it('an answer replies to the message of the operator, not to text of a model', () => {
  const ask: Ask = { task: 'chat-1', kind: 'Question', call: 'call-2', question: 'Which year?' };
  const content = 'Agent Researcher needs input: Which year?';
  const posted = aMessage('m3', { role: 'Assistant', task: 'chat-1', content }, { call: 'call-2' });
  const others = [aMessage('m1', { role: 'Assistant', content }), aMessage('m2', { role: 'Assistant', task: 'chat-1', content }, { call: 'call-1' })];
  expect(postedQuestion([...others, posted], ask)).toBe(posted);
  expect(postedQuestion(others, ask)).toBeUndefined();
});

it('an agent that asks has the name that the operator posted, whatever models write', () => {
  const ask: Ask = { task: 'chat-1', kind: 'Approval', call: 'call-2', tool: 'notes__add' };
  const content = (who: string) => `Agent ${who} asks for approval of \`notes__add\` (task chat-1, call call-2):\n{}`;
  const messages = [aMessage('m1', { role: 'Assistant', task: 'chat-1', content: content('Mallory') }), aMessage('m2', { role: 'Assistant', task: 'chat-1', content: content('Scribe') }, { call: 'call-2' })];
  expect(askerOf(messages, ask)).toBe('Scribe');
  expect(askerOf(messages.slice(0, 1), ask)).toBeUndefined();
});

it('the request of a run without a conversation has the reasons of policies', () => {
  const ask: Ask = { task: 'job', kind: 'Approval', call: 'c1', tool: 'notes__add', arguments: '{}', reasons: ['Required by policy team/writes, rule people'] };
  expect(requestOf({ key: 'job' } as Run, ask, 'Scribe').reasons).toEqual(ask.reasons);
});
