// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { callDigest } from '../model/digest';
import { runsOf, type Ask } from '../model/runs';
import { barredFromTask } from '../model/separation';
import { aMessage, aTask } from '../testing';
import { askerOf, postedQuestion, requestOf } from './AskCard';

const args = '{"text":"two words"}';
const approval: Ask = { task: 'job', kind: 'Approval', toolCall: 'call-1', subAgent: 'job-1', text: `notes__add ${args}`, argumentsDigest: callDigest('notes__add', args) };
const [run] = runsOf([], [aTask('job')]);

it('a request has the exact call if the status contains all of it', () => {
  expect(requestOf(run!, approval, 'Scribe')).toMatchObject({ task: 'job', agent: 'job-1', call: 'call-1', tool: 'notes__add', arguments: args, whole: true });
});

it('a shortened call, or one without a digest, is not taken for the whole call', () => {
  expect(requestOf(run!, { ...approval, text: 'notes__add {"text":"two…' }, 'Scribe').whole).toBe(false);
  expect(requestOf(run!, { ...approval, argumentsDigest: undefined }, 'Scribe').whole).toBe(false);
});

it('an answer replies to the message of the operator, not to text of a model', () => {
  const ask: Ask = { task: 'chat-1', kind: 'Question', toolCall: 'call-2', text: 'Which year?' };
  const content = 'Agent Researcher needs input: Which year?';
  const posted = aMessage('m3', { role: 'Assistant', about: 'chat-1', content }, { call: 'call-2' });
  const others = [aMessage('m1', { role: 'Assistant', content }), aMessage('m2', { role: 'Assistant', about: 'chat-1', content }, { call: 'call-1' })];
  expect(postedQuestion([...others, posted], ask)).toBe(posted);
  expect(postedQuestion(others, ask)).toBeUndefined();
});

it('an agent that asks has the name that the operator posted, whatever models write', () => {
  const ask: Ask = { task: 'chat-1', kind: 'Approval', toolCall: 'call-2', text: 'notes__add {}' };
  const content = (who: string) => `Agent ${who} asks for approval of \`notes__add\` (task chat-1, call call-2):\n{}`;
  const messages = [aMessage('m1', { role: 'Assistant', about: 'chat-1', content: content('Mallory') }), aMessage('m2', { role: 'Assistant', about: 'chat-1', content: content('Scribe') }, { call: 'call-2' })];
  expect(askerOf(messages, ask)).toBe('Scribe');
  expect(askerOf(messages.slice(0, 1), ask)).toBeUndefined();
});

it('the requester of a task may not decide if its role separates them', () => {
  const task = (user?: string) => aTask('job', { spec: { user }, status: { phase: 'Waiting', waiting: { ...approval, separation: true } } });
  expect(barredFromTask(task('alice'), 'alice')).toMatch('Another person');
  expect(barredFromTask(task('alice'), 'bob')).toBeUndefined();
  expect(barredFromTask(task(), 'bob')).toMatch('No one');
  expect(barredFromTask(aTask('job', { status: { phase: 'Waiting', waiting: approval } }), 'alice')).toBeUndefined();
});
