// A chat over chat completions, with a question and an approval of an agent below its orchestrator.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE } = process.env;
const client = new OpenAI({ baseURL: `${NESTOR_URL}/v1`, apiKey: NESTOR_TOKEN, maxRetries: 0 });
// The chat keeps its own history; the last reply is sent along, because a decision is about the call in it.
const messages = [];
const say = async (content, stream) => {
  messages.push({ role: 'user', content });
  const request = { model: `${NESTOR_NAMESPACE}/orchestrator`, metadata: { chat: 'talk' }, messages: messages.slice(-2), stream };
  let text = '';
  if (!stream) text = (await client.chat.completions.create(request)).choices[0].message.content;
  else for await (const chunk of await client.chat.completions.create(request)) text += chunk.choices[0]?.delta?.content ?? '';
  messages.push({ role: 'assistant', content: text });
  return text;
};
assert.equal(await say('Greet Alice'), 'Good day, Alice.');
assert.equal(await say('Greet Bob', true), 'Good day, Bob.');
assert.match(await say('Release', true), /^I will have it released\.\n\n.*Which version\?/s);
assert.match(await say('2.0'), /box__write.*notes-2\.0/s);
assert.match(await say('approve', true), /Done: .*wrote notes-2\.0/s);
await assert.rejects(client.chat.completions.create({ model: `${NESTOR_NAMESPACE}/orchestrator`, metadata: { chat: 'nobody' }, messages: [{ role: 'user', content: 'Hello' }] }), (e) => e.status === 404);
console.log('ok');
