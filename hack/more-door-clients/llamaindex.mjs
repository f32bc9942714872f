// LlamaIndex: node llamaindex.mjs chat|responses [stream].
import { OpenAI, OpenAIResponses } from '@llamaindex/openai';
import { exercise } from '../door-clients/exercise.mjs';

const [api, mode] = process.argv.slice(2);
const { NESTOR_URL, NESTOR_TOKEN } = process.env;
const Client = api === 'responses' ? OpenAIResponses : OpenAI;

await exercise({
  user: (content) => ({ role: 'user', content }),
  text: ({ content }) => (typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('')),
  reply: async (model, messages, signal) => {
    // Calls take no signal; the client below them takes a fetch.
    const abortable = (url, init) => fetch(url, signal ? { ...init, signal } : init);
    const session = { maxRetries: signal ? 0 : 10, additionalSessionOptions: { fetch: abortable } };
    const llm = new Client({ model, apiKey: NESTOR_TOKEN, baseURL: `${NESTOR_URL}/v1`, ...session });
    if (mode !== 'stream') return (await llm.chat({ messages })).message;
    let content = '';
    for await (const chunk of await llm.chat({ messages, stream: true })) content += chunk.delta;
    signal?.throwIfAborted(); // the stream ends without an error
    return { role: 'assistant', content };
  },
});
