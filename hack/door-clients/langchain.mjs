// LangChain: node langchain.mjs chat|responses [stream].
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { exercise } from './exercise.mjs';

const [api, mode] = process.argv.slice(2);
const { NESTOR_URL, NESTOR_TOKEN } = process.env;

await exercise({
  user: (text) => new HumanMessage(text),
  text: (message) => message.text,
  reply: async (model, messages, signal) => {
    const configuration = { baseURL: `${NESTOR_URL}/v1` };
    const chat = new ChatOpenAI({ model, apiKey: NESTOR_TOKEN, useResponsesApi: api === 'responses', configuration });
    if (mode !== 'stream') return chat.invoke(messages, { signal });
    let whole;
    for await (const chunk of await chat.stream(messages, { signal })) whole = whole ? whole.concat(chunk) : chunk;
    return whole;
  },
});
