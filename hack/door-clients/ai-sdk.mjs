// AI SDK: node ai-sdk.mjs chat|responses [stream]. It throws away nothing of the conversation, and keeps its messages
// in its own form.
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText } from 'ai';
import { exercise } from './exercise.mjs';

const [api, mode] = process.argv.slice(2);
const { NESTOR_URL, NESTOR_TOKEN } = process.env;
const provider = createOpenAI({ baseURL: `${NESTOR_URL}/v1`, apiKey: NESTOR_TOKEN });

await exercise({
  user: (content) => ({ role: 'user', content }),
  text: (message) => message.content.filter((part) => part.type === 'text').map((part) => part.text).join(''),
  reply: async (role, messages, abortSignal) => {
    const options = { model: provider[api](role), messages, abortSignal };
    if (mode !== 'stream') return (await generateText(options)).response.messages[0];
    let failure;
    const onError = ({ error }) => { failure = error; };
    const stream = streamText({ ...options, onError, onAbort: () => { failure = new Error('aborted'); } });
    await stream.consumeStream();
    if (failure) throw failure;
    return (await stream.response).messages[0];
  },
});
