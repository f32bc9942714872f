// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { snippets, tokenCommands } from './connect';

it('has the address of each door, with the namespace and the role', () => {
  const texts = Object.fromEntries(snippets('https://agents.example.org/', 'team-a', 'coder').map(({ client, text, about }) => [client, text + (about ?? '')]));
  expect(texts['OpenAI SDK']).toContain("baseURL: 'https://agents.example.org/v1'");
  expect(texts['OpenAI SDK']).toContain("model: 'team-a/coder'");
  expect(texts['MCP client']).toContain('"url": "https://agents.example.org/mcp/team-a"');
  expect(texts['MCP client']).toContain('the role coder');
  expect(texts.A2A).toContain('"https://agents.example.org/a2a/team-a/coder/v1/message:send"');
  expect(texts['AG-UI']).toContain("url: 'https://agents.example.org/ag-ui/team-a/coder'");
});

it('has commands for a token in the namespace', () => {
  expect(tokenCommands('team-a')).toContain('--serviceaccount team-a:assistant');
});
