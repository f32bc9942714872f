// OpenAI's own client: node openai-steps.mjs chat|responses [stream]. It sends the whole conversation as text.
import OpenAI from 'openai';
import { exercise } from './exercise.mjs';

const [api, mode] = process.argv.slice(2);
const { NESTOR_URL, NESTOR_TOKEN } = process.env;
const client = new OpenAI({ baseURL: `${NESTOR_URL}/v1`, apiKey: NESTOR_TOKEN });
const stream = mode === 'stream';

const complete = async (model, messages, signal) => {
  const completion = await client.chat.completions.create({ model, messages, stream }, { signal });
  if (!stream) return completion.choices[0].message;
  let content = '';
  for await (const chunk of completion) content += chunk.choices[0]?.delta?.content ?? '';
  signal?.throwIfAborted(); // the stream ends without an error
  return { role: 'assistant', content };
};
const respond = async (model, messages, signal) => {
  const { id } = messages.at(-2) ?? {};
  const request = { model, stream, input: messages.at(-1).content, previous_response_id: id };
  const response = await client.responses.create(request, { signal });
  if (!stream) return { id: response.id, role: 'assistant', content: response.output_text };
  let last;
  for await (const event of response) last = event.response ?? last;
  signal?.throwIfAborted();
  return { id: last.id, role: 'assistant', content: last.output[0].content[0].text };
};

await exercise({
  user: (content) => ({ role: 'user', content }),
  text: (message) => message.content,
  reply: api === 'responses' ? respond : complete,
});
