// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { explainModel, explainServer, explainTurn } from './errors';

describe('errors of models', () => {
  it.each([
    ['Incorrect API key provided: sk-x', 'does not accept the API key'],
    ['You exceeded your current quota, please check your plan and billing details.', 'no credit left'],
    ['Rate limit reached for requests', 'limits the rate'],
    ['The model `gpt-9` does not exist or you do not have access to it.', 'does not have this model'],
    ["This model's maximum context length is 8192 tokens", 'too long for the model'],
    ['the connection to the provider failed: dial tcp 10.0.0.1:443: connect: connection refused', 'cannot be reached'],
    ['the provider did not complete its reply within 10m0s', 'did not answer in time'],
    ['Not Found (check the provider\'s baseURL: the path /chat/completions was not found under it)', 'does not lead to its API'],
  ])('%s', (text, title) => {
    const explained = explainModel(text);
    expect(explained.title).toContain(title);
    expect(explained.todo).toBeTruthy();
    expect(explained.details).toBe(text);
  });

  it('keeps unknown errors, and takes the text out of JSON', () => {
    expect(explainModel('something odd')).toEqual({ title: 'Something odd.', todo: undefined, details: undefined });
    expect(explainModel('{"error":{"message":"it broke"}}')).toEqual({ title: 'It broke.', details: '{"error":{"message":"it broke"}}' });
    expect(explainModel('a {brace')).toMatchObject({ title: 'A {brace.' });
  });

  it('finds failed turns among the System messages', () => {
    expect(explainTurn('The model could not answer: Rate limit reached\nSend a message to try again.')?.title).toContain('limits the rate');
    expect(explainTurn('Stopped: the budget is used up.')).toBeUndefined();
  });
});

describe('errors of the API server', () => {
  it.each([
    ['agentmessages.nestor.dev is forbidden: User "bob" cannot create resource "agentmessages" in API group "nestor.dev" in the namespace "alice"', 'You may not create messages in alice.'],
    ['agentmessages.nestor.dev "x" is forbidden: ValidatingAdmissionPolicy \'nestor-authors\' with binding \'nestor-authors\' denied request: spec.user must be your user name', 'spec.user must be your user name.'],
    ['AgentMessage.nestor.dev "x" is invalid: spec.content: Too long: may not be more than 65536 bytes', 'The cluster does not accept it: spec.content: Too long: may not be more than 65536 bytes.'],
    ['AgentChat.nestor.dev "x" is invalid: spec: Invalid value: "object": choose one workspace', 'The cluster does not accept it: Spec: choose one workspace.'],
    ['etcdserver: request is too large', 'This is too large for the cluster.'],
  ])('%s', (text, title) => {
    expect(explainServer(text)).toMatchObject({ title, details: text });
  });

  it('leaves sentences alone', () => {
    expect(explainServer('You have 8 streams open.')).toEqual({ title: 'You have 8 streams open.', details: undefined });
  });
});
