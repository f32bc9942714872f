// A client of A2A 0.3: it gets as far as an error that says which version is served.
import assert from 'node:assert/strict';
import { A2AClient } from 'a2a-sdk-0/client';

const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE } = process.env;
const Authorization = `Bearer ${NESTOR_TOKEN}`;
const fetchImpl = (url, init) => fetch(url, { ...init, headers: { ...init?.headers, Authorization } });
const agent = `${NESTOR_URL}/a2a/${NESTOR_NAMESPACE}/releaser`;
const client = await A2AClient.fromCardUrl(`${agent}/.well-known/agent-card.json`, { fetchImpl });
const parts = [{ kind: 'text', text: 'Say hello' }];
const request = { message: { kind: 'message', messageId: '1', role: 'user', parts } };
const answer = await client.sendMessage(request).catch((error) => ({ error }));
assert.match(answer.error.message, /A2A 1\.0.*message\/send is a method of A2A 0\.3/);
await assert.rejects(async () => {
  for await (const event of client.sendMessageStream(request)) void event;
}, /message\/stream is a method of A2A 0\.3/);
console.log('ok');
