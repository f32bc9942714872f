// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { anEntry } from '../testing';
import { emptyTranscript, filterRows, addEntries, itemsOf, reasoningOf, prependOlder, rejoin, rowsOf, unpostedText } from './transcript';

describe('a transcript', () => {
  const three = [anEntry(1, { kind: 'Started', content: 'do it' }), anEntry(3, { content: 'hello' }), anEntry(5, { kind: 'User' })];

  it('takes entries once, in order', () => {
    const once = addEntries(emptyTranscript, three);
    const again = addEntries(once, [...three, anEntry(6, { content: 'more' })]);
    expect(again.entries.map((entry) => entry.seq)).toEqual([1, 3, 5, 6]);
    expect(again.complete).toBe(true);
  });

  it('finds the reasoning before a reply by its text', () => {
    const state = addEntries(emptyTranscript, [anEntry(1, { kind: 'User', content: 'hello' }), anEntry(2, { kind: 'Assistant', content: 'Hi.\n', reasoning: 'They greet me.' }), anEntry(3, { kind: 'Assistant', content: 'Well.' })]);
    expect([...reasoningOf(state)]).toEqual([['Hi.', 'They greet me.']]);
    expect(reasoningOf(undefined).size).toBe(0);
  });

  it('hears a reply piece by piece, until the whole comes', () => {
    const delta = (value: object) => anEntry(5, { kind: 'Delta', delta: value });
    let state = addEntries(emptyTranscript, [delta({ text: 'Hel' }), delta({ text: 'lo' }), delta({ toolCall: { index: 0, tool: 'read', arguments: '{"a' } }), delta({ toolCall: { index: 0, arguments: '":1}' } })]);
    expect(state.streaming).toEqual({ text: 'Hello', reasoning: '', toolCalls: [{ tool: 'read', arguments: '{"a":1}' }], lost: false });
    state = addEntries(state, [anEntry(6, { content: 'Hello' })]);
    expect(state.streaming).toBeUndefined();
  });

  it('begins again with another attempt and after a reconnect', () => {
    const delta = (modelCall: string, text: string) => anEntry(5, { kind: 'Delta', modelCall, delta: { text } });
    let state = addEntries(emptyTranscript, [delta('a.1', 'Hel'), delta('a.2', 'Good'), delta('a.2', ' day')]);
    expect(state.streaming?.text).toBe('Good day');
    state = addEntries(rejoin(state), [delta('a.2', 'Good day, my'), delta('a.2', ' friend')]);
    expect(state.streaming?.text).toBe('Good day, my friend');
    expect(rejoin(emptyTranscript)).toBe(emptyTranscript);
  });

  it('ignores what a provider sends of a reply that was stopped', () => {
    const delta = (modelCall: string, text: string) => anEntry(5, { kind: 'Delta', modelCall, delta: { text } });
    let state = addEntries(emptyTranscript, [anEntry(5, { kind: 'Started' }), delta('a.1', 'Half'), anEntry(6, { kind: 'Cancelled', content: 'Half' }), delta('a.1', ' of it')]);
    expect(state.streaming).toBeUndefined();
    state = addEntries(state, [delta('b.1', 'New')]);
    expect(state.streaming?.text).toBe('New');
    state = addEntries(state, [anEntry(7, { modelCall: 'b.1', content: 'New.' }), delta('b.1', '.')]);
    expect(state.streaming).toBeUndefined();
  });

  it('does not show a reply again that was there before the page', () => {
    const state = addEntries(emptyTranscript, [anEntry(1, { kind: 'Started' }), anEntry(2, { content: 'An old reply, whose message was deleted.' })]);
    expect(unpostedText(state, [], Date.now())).toBe('');
    expect(unpostedText(addEntries(state, [anEntry(3, { content: 'A new one.' })]), [], Date.now())).toBe('A new one.');
  });

  it('keeps the beginning of a stopped reply, and stops streaming', () => {
    let state = addEntries(emptyTranscript, [anEntry(1, { kind: 'Started' }), anEntry(1, { kind: 'Delta', delta: { text: 'Half of a' } })]);
    state = addEntries(state, [anEntry(2, { kind: 'Cancelled' })]);
    expect(state.streaming).toBeUndefined();
    expect(state.lastReply).toMatchObject({ text: 'Half of a', stopped: true });
    expect(unpostedText(state, [], Date.now())).toBe('Half of a');
    expect(unpostedText(state, ['Half of a'], Date.now())).toBe('');
  });

  it('keeps a reply in sight until its message is there', () => {
    const delta = (text: string) => anEntry(5, { kind: 'Delta', delta: { text } });
    let state = addEntries(emptyTranscript, [delta('Let me ask'), delta(' a researcher.')]);
    expect(unpostedText(state, ['An older message'], Date.now())).toBe('Let me ask a researcher.');
    state = addEntries(state, [anEntry(6, { content: 'Let me ask a researcher.', toolCalls: [{ id: 'c1', tool: 'delegate_to_agent', phase: 'Success' }] })]);
    expect(unpostedText(state, [], Date.now())).toBe('Let me ask a researcher.');
    expect(unpostedText(state, ['Let me ask a researcher.'], Date.now())).toBe('');
    expect(unpostedText(state, [], Date.now() + 60_000)).toBe('');
    expect(unpostedText(addEntries(state, [anEntry(7, { kind: 'User', content: 'Go on' })]), [], Date.now())).toBe('');
  });

  it('ends with an outcome', () => {
    expect(addEntries(emptyTranscript, [anEntry(9, { outcome: { summary: 'done' } })]).ended).toBe(true);
  });

  it('puts older entries before, without doubles', () => {
    const state = addEntries(emptyTranscript, [anEntry(10, {}), anEntry(11, {})]);
    const longer = prependOlder(state, [anEntry(8, {}), anEntry(9, {}), anEntry(10, {})], false);
    expect(longer.entries.map((entry) => entry.seq)).toEqual([8, 9, 10, 11]);
    expect(longer.complete).toBe(false);
  });
});

describe('rows', () => {
  const call = { id: 'c1', tool: 'write', arguments: '{}', phase: 'WaitingForApproval' };

  it('have results and decisions with the call', () => {
    const rows = rowsOf([
      anEntry(1, { toolCalls: [call] }),
      anEntry(2, { kind: 'Decision', user: 'alice', content: 'go', toolCalls: [{ id: 'c1', phase: 'Running' }] }),
      anEntry(3, { kind: 'ToolResult', content: 'written', toolCalls: [{ id: 'c1', phase: 'Success' }] }),
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0]!.calls[0]).toMatchObject({ phase: 'Success', output: 'written', decision: { decided: 'Approved', by: 'alice', comment: 'go' } });
    const denied = rowsOf([anEntry(1, { toolCalls: [call] }), anEntry(2, { kind: 'Decision', decision: 'Deny', user: 'bob', toolCalls: [{ id: 'c1', phase: 'Denied' }] })]);
    expect(denied[0]!.calls[0]).toMatchObject({ phase: 'Denied', decision: { decided: 'Denied', by: 'bob' } });
  });

  it('stand alone when their call is not loaded', () => {
    const rows = rowsOf([anEntry(3, { kind: 'ToolResult', content: 'written', toolCalls: [{ id: 'c1', phase: 'Success' }] })]);
    expect(rows.map((row) => row.entry.kind)).toEqual(['ToolResult']);
  });

  it('name the agents that a call started', () => {
    const rows = rowsOf([anEntry(1, { toolCalls: [{ ...call, tool: 'spawn_agents' }], children: [{ name: 'chat-1', toolCall: 'c1' }, { name: 'chat-2', toolCall: 'c1' }] })]);
    expect(rows[0]!.calls[0]!.children).toEqual(['chat-1', 'chat-2']);
  });

  it('stand in the list piece by piece', () => {
    const rows = rowsOf([anEntry(1, { toolCalls: [call, { ...call, id: 'c2' }], outcome: { summary: 'done' } })]);
    expect(itemsOf(rows).map((item) => item.key)).toEqual(['1', '1/c1', '1/c2', '1/outcome']);
  });

  it('can be filtered and searched', () => {
    const rows = rowsOf([anEntry(1, { kind: 'Started', content: 'Begin' }), anEntry(2, { toolCalls: [{ ...call, phase: 'Failed', arguments: '{"path":"main.go"}' }] }), anEntry(3, { kind: 'Error', content: 'rate limit', error: 'Retry' })]);
    const keys = (filter: Parameters<typeof filterRows>[1], search = '') => filterRows(rows, filter, search).map((row) => row.key);
    expect(keys('all')).toEqual(['1', '2', '3']);
    expect(keys('words')).toEqual(['1', '3']);
    expect(keys('tools')).toEqual(['2']);
    expect(keys('errors')).toEqual(['2', '3']);
    expect(keys('all', 'MAIN.go')).toEqual(['2']);
  });

  it('of ten thousand entries are made in a moment', () => {
    const many = Array.from({ length: 10_000 }, (_, i) => (i % 2 ? anEntry(i, { kind: 'ToolResult', content: 'x', toolCalls: [{ id: `c${i - 1}`, phase: 'Success' }] }) : anEntry(i, { toolCalls: [{ ...call, id: `c${i}` }] })));
    const took = Array.from({ length: 5 }, () => {
      const begun = performance.now();
      expect(rowsOf(many)).toHaveLength(5000);
      return performance.now() - begun;
    });
    expect(Math.min(...took)).toBeLessThan(1000); // the machine may be busy with something else in some of them
  });
});
