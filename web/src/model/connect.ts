// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** What a person puts into a program so that it uses a role. */
export interface Snippet {
  client: string;
  language: string;
  text: string;
  about?: string;
}

/** The gateway's address in snippets if the page does not know it. */
export const unknownGateway = 'https://agents.example.com';

/** The commands that give a program an identity, and a token for it. */
export const tokenCommands = (namespace: string) => `kubectl -n ${namespace} create serviceaccount assistant
kubectl -n ${namespace} create rolebinding assistant --clusterrole nestor-runner --serviceaccount ${namespace}:assistant
export NESTOR_TOKEN=$(kubectl -n ${namespace} create token assistant --duration 24h)`;

/** How programs use a role of a namespace. The token is that of the program. */
export function snippets(gateway: string, namespace: string, role: string): Snippet[] {
  const at = gateway.replace(/\/+$/, '');
  return [
    {
      client: 'OpenAI SDK',
      language: 'js',
      text: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${at}/v1', apiKey: process.env.NESTOR_TOKEN });
const completion = await client.chat.completions.create({
  model: '${namespace}/${role}',
  messages: [{ role: 'user', content: 'What can you do?' }],
});
console.log(completion.choices[0].message.content);`,
    },
    {
      client: 'MCP client',
      language: 'json',
      text: JSON.stringify({ mcpServers: { nestor: { url: `${at}/mcp/${namespace}`, headers: { Authorization: 'Bearer ${env:NESTOR_TOKEN}' } } } }, null, 2),
      about: `Its tool run_agent takes an instruction and the role ${role}.`,
    },
    {
      client: 'A2A',
      language: 'sh',
      text: `curl -s "${at}/a2a/${namespace}/${role}/v1/message:send" \\
  -H "Authorization: Bearer $NESTOR_TOKEN" -H "A2A-Version: 1.0" -H "Content-Type: application/json" \\
  -d '{"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "What can you do?"}]}}'`,
    },
    {
      client: 'AG-UI',
      language: 'js',
      text: `import { HttpAgent } from '@ag-ui/client';

const agent = new HttpAgent({
  url: '${at}/ag-ui/${namespace}/${role}',
  headers: { Authorization: \`Bearer \${token}\` },
});
agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'What can you do?' });
await agent.runAgent();`,
    },
  ];
}
