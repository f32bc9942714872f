// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { aMessage, anAgent, aTask, aTree } from '../testing';
import { agentName, ancestry, buildTree, elapsed, finished, flatten, inOrder, isHidden, questionIn, requestIn } from './tree';

describe('the tree', () => {
  it('nests tasks to any depth, whatever order they come in', () => {
    const built = aTree([aTask('c', { parent: 'b' }), aTask('b', { parent: 'a' }), aTask('a')], [], { a: { trigger: 'm', after: 'words', badge: 'success' } });
    expect(flatten(built.roots).map((node) => [node.name, node.depth, finished(node)])).toEqual([['a', 1, true], ['b', 2, false], ['c', 3, false]]);
    expect(ancestry(built.byName.get('c')!).map((node) => node.name)).toEqual(['a', 'b', 'c']);
    expect([built.byTrigger.get('m'), built.below.get('words')]).toEqual([built.roots, built.roots]);
  });

  it('has the agents and the order of the server, and leaves out what has no place yet', () => {
    const agent = anAgent('x', { phase: 'Active' });
    const displays = new Map([['a-uid', { badge: 'running', place: 1, agent: agent.metadata.uid, own: {} } as const], ['b-uid', { badge: 'pending', place: 0, own: {} } as const]]);
    const { roots } = buildTree([aTask('a'), aTask('b'), aTask('new')], [agent], displays);
    expect(roots.map((node) => [node.name, node.agent])).toEqual([['b', undefined], ['a', agent]]);
  });

  it('knows agents by another name than that of their task', () => {
    expect(agentName([aTask('a', { status: { phase: 'Running', subAgent: 'a-x7k2p' } })], 'a')).toBe('a-x7k2p');
  });
});

it('a run is measured until now, and a finished one by its duration', () => {
  const now = Date.parse('2026-01-01T00:01:00Z');
  const [running, done, waiting] = aTree([
    aTask('a', { status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z' } }),
    aTask('b', { status: { phase: 'Success', startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:02Z', durationSeconds: 2 } }),
    aTask('c'),
  ]).roots;
  expect([elapsed(running!, now), elapsed(done!, now), elapsed(waiting!, now)]).toEqual([60_000, 2000, undefined]);
});

describe('messages', () => {
  it('are in the order of the server; what a person just wrote comes last, and other new messages wait', () => {
    const displays = new Map([['a-uid', { place: 1 }], ['b-uid', { place: 0 }]]);
    const list = [aMessage('mine', { content: 'new' }), aMessage('a', { content: 'a' }), aMessage('b', { role: 'Assistant', content: 'b' }), aMessage('post', { role: 'Assistant', content: 'Agent Scribe asks' }), aMessage('decision', { approval: { task: 't', decision: 'Deny' } })];
    expect(inOrder(list, displays).map((message) => message.metadata.name)).toEqual(['b', 'a', 'mine']);
  });

  it('are requests, questions and parts of requests if the server says so', () => {
    const request = { task: 't', who: 'Scribe', tool: 'notes__add', arguments: '{}', state: 'open' } as const;
    const tree = aTree([aTask('t')], [], { one: { place: 0, request }, two: { place: 1, hidden: true }, three: { place: 2, question: { task: 't', who: 'Researcher', text: 'Which year?', open: true } } });
    const of = (name: string) => aMessage(name, { role: 'Assistant', content: 'x' });
    expect(requestIn(of('one'), tree)).toEqual({ ...request, message: 'one' });
    expect(isHidden(of('two'), tree)).toBe(true);
    expect(questionIn(of('three'), tree)).toMatchObject({ open: true, text: 'Which year?', node: { name: 't' } });
    expect([requestIn(of('two'), tree), questionIn(of('one'), tree), isHidden(of('none'), tree)]).toEqual([undefined, undefined, false]);
  });
});
