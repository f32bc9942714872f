// A whole flow with OpenAI's own client: chat completions and responses, streamed and not, with a question and an approval.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE } = process.env;
const client = new OpenAI({ baseURL: `${NESTOR_URL}/v1`, apiKey: NESTOR_TOKEN });
const model = `${NESTOR_NAMESPACE}/releaser`;

// Models.
const models = [];
for await (const m of client.models.list()) models.push(m.id);
assert.ok(models.includes(model), `models: ${models}`);
assert.equal((await client.models.retrieve(model)).id, model);

// Chat completions: the client repeats the conversation, and the run goes on.
const messages = [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Release the notes' }];
const ask = async (text) => {
  if (text) messages.push({ role: 'user', content: text });
  const completion = await client.chat.completions.create({ model, messages, temperature: 0.2 });
  assert.equal(completion.object, 'chat.completion');
  assert.equal(completion.choices[0].finish_reason, 'stop');
  messages.push(completion.choices[0].message);
  return completion;
};
let completion = await ask();
assert.equal(completion.choices[0].message.content, 'Which version?');
assert.equal(completion.metadata.waiting, 'Question');
completion = await ask('1.2');
assert.match(completion.choices[0].message.content, /box__write/);
assert.match(completion.choices[0].message.content, /notes-1\.2/);
completion = await ask('Hm, what does that do?');
assert.match(completion.choices[0].message.content, /needs a decision/);
completion = await ask('approve: looks fine');
assert.match(completion.choices[0].message.content, /^Released the notes: wrote notes-1\.2\n/);
assert.match(completion.choices[0].message.content, /looks fine/);
assert.ok(completion.usage.total_tokens > 0);

// Streamed.
const stream = await client.chat.completions.create({ model, stream: true, stream_options: { include_usage: true }, messages: [{ role: 'user', content: 'Say hello' }] });
let text = '', usage, finish;
for await (const chunk of stream) {
  assert.equal(chunk.object, 'chat.completion.chunk');
  text += chunk.choices[0]?.delta?.content ?? '';
  finish ??= chunk.choices[0]?.finish_reason ?? undefined;
  usage ??= chunk.usage ?? undefined;
}
assert.equal(text, 'Hello, world!');
assert.equal(finish, 'stop');
assert.ok(usage.total_tokens > 0);

// Responses: previous_response_id continues the run.
let response = await client.responses.create({ model, input: 'Release the notes' });
assert.equal(response.output_text, 'Which version?');
response = await client.responses.create({ model, input: '1.3', previous_response_id: response.id });
assert.match(response.output_text, /notes-1\.3/);
const events = [];
for await (const event of await client.responses.create({ model, input: [{ role: 'user', content: [{ type: 'input_text', text: 'approve' }] }], previous_response_id: response.id, stream: true })) events.push(event);
assert.equal(events[0].type, 'response.created');
assert.equal(events.at(-1).type, 'response.completed');
assert.equal(events.at(-1).response.output[0].content[0].text, 'Released the notes: wrote notes-1.3.');
assert.equal(events.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join(''), 'Released the notes: wrote notes-1.3.');
for (let i = 1; i < events.length; i++) assert.ok(events[i].sequence_number > events[i - 1].sequence_number, `${events[i].type} ${events[i].sequence_number}`);

// A stream can be read again from any event on, and is the same.
for (let i = 0; i < events.length - 1; i++) {
  const rest = [];
  for await (const event of await client.responses.retrieve(events[0].response.id, { stream: true, starting_after: events[i].sequence_number })) rest.push(event);
  assert.deepEqual(rest.map((e) => [e.type, e.sequence_number]), events.slice(i + 1).map((e) => [e.type, e.sequence_number]), `after ${i}`);
}

// A finished run goes on with its memory.
response = await client.responses.create({ model, input: 'What did you do?', previous_response_id: events[0].response.id });
assert.equal(response.output_text, 'I released the notes before.');

// In the background, then read.
response = await client.responses.create({ model, input: 'Say hello', background: true });
assert.equal(response.status, 'in_progress');
while (response.status === 'in_progress') response = await client.responses.retrieve(response.id);
assert.equal(response.output_text, 'Hello, world!');

// A retry starts nothing twice.
const key = { headers: { 'Idempotency-Key': 'once' } };
const first = await client.responses.create({ model, input: 'Say hello' }, key);
const second = await client.responses.create({ model, input: 'Say hello' }, key);
assert.equal(first.id, second.id);
await assert.rejects(client.responses.create({ model, input: 'Say hello again' }, { ...key, maxRetries: 0 }), (e) => e.status === 409 && /another request/.test(e.message));

// Errors in OpenAI's form.
const refused = async (params, status, pattern) => assert.rejects(client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Say hello' }], ...params }), (e) => {
  assert.equal(e.status, status, e.message);
  assert.match(e.message, pattern);
  return true;
});
await refused({ n: 2 }, 400, /n is not supported: a run has one result/);
await refused({ logprobs: true }, 400, /logprobs is not supported/);
await refused({ tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }, 400, /tools is not supported/);
await refused({ model: 'gpt-7' }, 400, /NAMESPACE\/ROLE/);
await refused({ model: `${NESTOR_NAMESPACE}/nobody` }, 404, /nobody/);
await refused({ messages: [{ role: 'user', content: 'Give up' }] }, 400, /It cannot be done/);
await assert.rejects(new OpenAI({ baseURL: `${NESTOR_URL}/v1`, apiKey: 'wrong' }).models.list(), OpenAI.AuthenticationError);
await refused({ model: 'kube-system/general' }, 403, /forbidden/);

console.log('ok');
