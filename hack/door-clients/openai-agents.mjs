// OpenAI's agents SDK uses a role of Nestor as the model of an agent: streamed and not, with a question and an approval.
import assert from 'node:assert/strict';
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import OpenAI from 'openai';

setTracingDisabled(true);
const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE } = process.env;
const client = new OpenAI({ baseURL: `${NESTOR_URL}/v1`, apiKey: NESTOR_TOKEN });
const role = `${NESTOR_NAMESPACE}/releaser`;

// Chat completions: the history of the SDK is the conversation.
const agent = new Agent({ name: 'Release', instructions: 'Be brief.', model: new OpenAIChatCompletionsModel(client, role) });
let result = await run(agent, 'Release the notes');
assert.equal(result.finalOutput, 'Which version?');
result = await run(agent, [...result.history, { role: 'user', content: '3.0' }]);
assert.match(result.finalOutput, /notes-3\.0/);
result = await run(agent, [...result.history, { role: 'user', content: 'approve' }], { stream: true });
let text = '';
for await (const piece of result.toTextStream()) text += piece;
await result.completed;
assert.equal(result.finalOutput, 'Released the notes: wrote notes-3.0.');
assert.equal(text, result.finalOutput);

// Responses: the SDK passes the ID of the previous response.
const responder = new Agent({ name: 'Release', model: new OpenAIResponsesModel(client, role) });
let response = await run(responder, 'Release the notes');
assert.equal(response.finalOutput, 'Which version?');
response = await run(responder, '3.1', { previousResponseId: response.lastResponseId });
assert.match(response.finalOutput, /notes-3\.1/);
response = await run(responder, 'Approve!', { previousResponseId: response.lastResponseId });
assert.equal(response.finalOutput, 'Released the notes: wrote notes-3.1.');
console.log('ok');
