// Structured outputs with OpenAI's own client: the text of a response is the data of the run's result, in the form of the client's schema.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE } = process.env;
const client = new OpenAI({ baseURL: `${NESTOR_URL}/v1`, apiKey: NESTOR_TOKEN, maxRetries: 0 });
const model = `${NESTOR_NAMESPACE}/releaser`;
const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false });
const count = object({ count: { type: 'integer' } });
const release = object({ version: { type: 'string' }, parts: { type: 'integer' } });
const inCompletion = (schema) => ({ type: 'json_schema', json_schema: { name: 'result', strict: true, schema } });
const inResponse = (schema) => ({ format: { type: 'json_schema', name: 'result', strict: true, schema } });

// Chat completions, parsed by the client.
const counted = await client.chat.completions.parse({ model, messages: [{ role: 'user', content: 'Count the notes' }], response_format: inCompletion(count) });
assert.deepEqual(JSON.parse(counted.choices[0].message.content), { count: 3 });

// A question on the way is text; the answer, with the conversation repeated, ends with the data. The text of the agent is not in it.
const messages = [{ role: 'user', content: 'Describe the release' }];
const ask = (params) => client.chat.completions.create({ model, messages, response_format: inCompletion(release), ...params });
const question = await ask();
assert.equal(question.choices[0].message.content, 'Which version?');
assert.equal(question.metadata.waiting, 'Question');
messages.push(question.choices[0].message, { role: 'user', content: '1.4' });
await assert.rejects(ask({ response_format: inCompletion(count) }), (e) => e.status === 400 && e.param === 'response_format' && /another schema/.test(e.message));
let text = '';
for await (const chunk of await ask({ stream: true })) text += chunk.choices[0]?.delta?.content ?? '';
assert.deepEqual(JSON.parse(text), { version: '1.4', parts: 3 });

// Responses, streamed and not.
let response = await client.responses.parse({ model, input: 'Count the notes', text: inResponse(count) });
assert.deepEqual(JSON.parse(response.output_text), { count: 3 });
response = await client.responses.create({ model, input: 'Describe the release', text: inResponse(release) });
assert.equal(response.output_text, 'Which version?');
const events = [];
for await (const event of await client.responses.create({ model, input: '1.5', previous_response_id: response.id, stream: true })) events.push(event);
const final = events.at(-1).response;
assert.deepEqual(JSON.parse(final.output[0].content[0].text), { version: '1.5', parts: 3 });
assert.equal(events.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join(''), final.output[0].content[0].text);
for (let i = 0; i < events.length - 1; i++) {
  const rest = [];
  for await (const event of await client.responses.retrieve(final.id, { stream: true, starting_after: events[i].sequence_number })) rest.push(event);
  assert.deepEqual(rest.map((e) => [e.type, e.sequence_number]), events.slice(i + 1).map((e) => [e.type, e.sequence_number]), `after ${i}`);
}
assert.deepEqual(JSON.parse((await client.responses.retrieve(final.id)).output_text), { version: '1.5', parts: 3 });

// A schema that the agent's data does not fit: the run fails, it does not return something else.
await assert.rejects(client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Count the notes' }], response_format: inCompletion(release) }), (e) => e.status === 400);

// Refused before anything starts.
const refused = async (call, param, pattern) => assert.rejects(call, (e) => {
  assert.equal(e.status, 400, e.message);
  assert.equal(e.param, param);
  assert.match(e.message, pattern);
  return true;
});
const say = (params) => client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Say hello' }], ...params });
await refused(say({ response_format: { type: 'json_object' } }), 'response_format', /use json_schema/);
await refused(say({ response_format: { type: 'json_schema', json_schema: { name: 'none' } } }), 'response_format', /needs a schema of the type object/);
await refused(say({ response_format: inCompletion({ type: 'array', items: {} }) }), 'response_format', /type object/);
await refused(say({ response_format: inCompletion(count), metadata: { chat: 'talk' } }), 'response_format', /replies of a chat are text/);
await refused(client.responses.create({ model, input: 'Say hello', text: { format: { type: 'json_object' } } }), 'text.format', /use json_schema/);

console.log('ok');
