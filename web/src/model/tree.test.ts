// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { aMessage, anAgent, aTask } from '../testing';
import { callDigest } from './digest';
import { agentName, ancestry, badgeOf, buildTree, elapsed, flatten, inOrder, ownUsage, questionIn, requestIn, isPart } from './tree';

const tree = (tasks: Parameters<typeof buildTree>[0], agents: Parameters<typeof buildTree>[1] = [], messages: Parameters<typeof buildTree>[2] = []) => buildTree(tasks, agents, messages);

describe('the tree', () => {
  it('nests tasks to any depth, whatever order they come in', () => {
    const built = tree([aTask('c', { parent: 'b' }), aTask('b', { parent: 'a' }), aTask('a', { spec: { triggerMessage: 'm' } })], [], [aMessage('m', { content: 'x' })]);
    expect(built.roots.map((node) => node.name)).toEqual(['a']);
    expect(flatten(built.roots).map((node) => [node.name, node.depth])).toEqual([['a', 1], ['b', 2], ['c', 3]]);
    expect(ancestry(built.byName.get('c')!).map((node) => node.name)).toEqual(['a', 'b', 'c']);
    expect(built.byTrigger.get('m')).toHaveLength(1);
  });

  it('finds the agent of a task by its owner, and children by the name of the agent', () => {
    const old = anAgent('a', { phase: 'Completed' });
    old.metadata.ownerReferences = [{ kind: 'AgentTask', name: 'a', uid: 'gone', controller: true }];
    const own = anAgent('a-x7k2p', { phase: 'Active' });
    own.metadata.ownerReferences = [{ kind: 'AgentTask', name: 'a', uid: 'a-uid', controller: true }];
    const tasks = [aTask('a', { status: { phase: 'Running', subAgent: 'a-x7k2p' } }), aTask('a-x7k2p-1', { parent: 'a-x7k2p' })];
    const built = tree(tasks, [old, own]);
    expect(built.byName.get('a')?.agent).toBe(own);
    expect(built.roots.map((node) => node.children.length)).toEqual([1]);
    expect(agentName(tasks, 'a')).toBe('a-x7k2p');
  });

  it('orders siblings by the number in their name where times are the same', () => {
    const built = tree([aTask('chat-10'), aTask('chat-9'), aTask('chat-2')]);
    expect(built.roots.map((node) => node.name)).toEqual(['chat-2', 'chat-9', 'chat-10']);
  });

  it('orders siblings by the calls that asked for them, not by when they were created', () => {
    const of = (name: string, created: string) => aTask(name, { spec: { chat: 'chat' }, created: `2026-01-01T00:00:0${created}Z` });
    const built = tree([of('chat-10-x7k2p', '1'), of('by-hand', '0'), of('chat-3', '2'), of('chat-2', '3')]);
    expect(built.roots.map((node) => node.name)).toEqual(['chat-2', 'chat-3', 'chat-10-x7k2p', 'by-hand']);
  });

  it('keeps tasks whose message is gone', () => {
    expect(tree([aTask('a', { spec: { triggerMessage: 'gone' } })]).byTrigger.get('')).toHaveLength(1);
  });
});

describe('badges', () => {
  it.each([
    ['pending', {}, undefined],
    ['running', { phase: 'Running' }, 'Active'],
    ['delegating', { phase: 'Running' }, 'AwaitingSubAgents'],
    ['waiting', { phase: 'Waiting' }, 'WaitingForUser'],
    ['success', { phase: 'Success' }, 'Completed'],
    ['failed', { phase: 'Failed', error: { kind: 'ModelError' } }, 'Failed'],
    ['timedout', { phase: 'Failed', error: { kind: 'TimedOut' } }, 'Failed'],
    ['cancelled', { phase: 'Cancelled', error: { kind: 'Cancelled' } }, 'Failed'],
    ['cancelling', { phase: 'Running' }, 'Cancelling'],
  ] as const)('%s', (badge, status, phase) => {
    const built = tree([aTask('a', { status })], phase ? [anAgent('a', { phase })] : []);
    expect(badgeOf(built.roots[0]!)).toBe(badge);
  });
});

describe('figures', () => {
  it('measure a run until now, and a finished one exactly', () => {
    const now = Date.parse('2026-01-01T00:01:00Z');
    const [running, done, waiting] = tree([
      aTask('a', { status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z' } }),
      aTask('b', { status: { phase: 'Success', startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:02Z', durationMillis: 1234 } }),
      aTask('c'),
    ]).roots;
    expect([elapsed(running!, now), elapsed(done!, now), elapsed(waiting!, now)]).toEqual([60_000, 1234, undefined]);
  });

  it('leave out what children used, and never call an unknown price free', () => {
    const parent = { phase: 'Success' as const, usage: { promptTokens: 100, completionTokens: 20, totalTokens: 120, modelCalls: 3, costMicros: 50 } };
    const child = { phase: 'Success' as const, usage: { promptTokens: 60, completionTokens: 5, totalTokens: 65, modelCalls: 1 } };
    const [root] = tree([aTask('a', { status: parent }), aTask('b', { parent: 'a', status: child })]).roots;
    expect(ownUsage(root!)).toEqual({ promptTokens: 40, completionTokens: 15, totalTokens: 55, modelCalls: 2 });
  });
});

describe('messages', () => {
  it('are read as one thing leads to another', () => {
    const later = '2026-01-01T00:00:01Z';
    const list = [aMessage('chat-10', { role: 'Assistant', content: 'b' }), aMessage('z', { content: 'c' }, { created: later }), aMessage('chat-9', { role: 'Assistant', content: 'a' }), aMessage('q', { content: 'q' })];
    expect(inOrder(list).map((message) => message.metadata.name)).toEqual(['q', 'chat-9', 'chat-10', 'z']);
  });

  const asks = 'Agent Scribe asks for approval of `notes__add` (task chat-1, call call_1):\n{"title": "a\\nb"}';
  const waiting = tree([aTask('chat-1', { status: { phase: 'Waiting' } })], [anAgent('chat-1', { toolCalls: [{ id: 'call_1', tool: 'notes__add', phase: 'AwaitingApproval' }] })]);

  it('with a call are requests with the exact arguments', () => {
    const message = aMessage('chat-post-1', { role: 'Assistant', about: 'chat-1', content: asks }, { call: 'call_1' });
    expect(requestIn(message, waiting, [message])).toMatchObject({ task: 'chat-1', call: 'call_1', tool: 'notes__add', arguments: '{"title": "a\\nb"}', state: 'open', who: 'Scribe' });
  });

  it('with a digest are whole only if the arguments have it', () => {
    const text = '{"title": "' + 'x'.repeat(100) + '"}';
    const digest = callDigest('notes__add', text);
    const head = 'Agent Scribe asks for approval of `notes__add` (task chat-1, call call_1):\n';
    const part = (name: string, content: string) => aMessage(name, { role: 'Assistant', about: 'chat-1', content }, { call: 'call_1', digest });
    const [one, two] = [part('chat-post-1', head + text.slice(0, 50)), part('chat-post-2', text.slice(50))];
    expect(requestIn(one, waiting, [one, two])).toMatchObject({ arguments: text, whole: true, digest });
    expect(requestIn(one, waiting, [one])).toMatchObject({ whole: false });
    expect(isPart(two, [one, two])).toBe(true);
    expect(isPart(one, [one, two])).toBe(false);
    const decision = aMessage('d', { user: 'alice', approval: { task: 'chat-1', toolCall: 'call_1', decision: 'Deny' } }, { status: { phase: 'Handled' } });
    expect(requestIn(one, waiting, [one, two, decision])).toMatchObject({ by: 'alice' });
  });

  it('of a model that only looks like a request are not', () => {
    const forged = aMessage('chat-post-1', { role: 'Assistant', content: asks });
    expect(requestIn(forged, waiting, [forged])).toBeUndefined();
    const users = aMessage('mine', { role: 'User', about: 'chat-1', content: asks }, { call: 'call_1' });
    expect(requestIn(users, waiting, [users])).toBeUndefined();
  });

  it('that decide close a request, unless they were rejected', () => {
    const message = aMessage('chat-post-1', { role: 'Assistant', about: 'chat-1', content: asks }, { call: 'call_1' });
    const decision = (phase: 'Pending' | 'Rejected') => aMessage('d', { approval: { task: 'chat-1', toolCall: 'call_1', decision: 'Deny' } }, { status: { phase } });
    expect(requestIn(message, waiting, [message, decision('Pending')])?.state).toBe('deciding');
    expect(requestIn(message, waiting, [message, decision('Rejected')])?.state).toBe('open');
    const done = tree([aTask('chat-1', { status: { phase: 'Running' } })], [anAgent('chat-1', { toolCalls: [{ id: 'call_1', tool: 'notes__add', phase: 'Denied' }] })]);
    expect(requestIn(message, done, [message, decision('Pending')])?.state).toBe('denied');
    expect(requestIn(message, done, [message])?.state).toBe('over');
  });

  it('of agents that ask are questions while they wait', () => {
    const message = aMessage('p', { role: 'Assistant', about: 'chat-1', content: 'Agent Researcher needs input: Which year?' }, { call: 'call_1' });
    const asking = tree([aTask('chat-1', { status: { phase: 'Waiting', waiting: { kind: 'Question', toolCall: 'call_1' } } })]);
    expect(questionIn(message, asking)).toMatchObject({ open: true, text: 'Which year?', who: 'Researcher' });
    expect(questionIn(message, tree([aTask('chat-1', { status: { phase: 'Success' } })]))).toMatchObject({ open: false });
  });
});
