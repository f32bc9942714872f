// Genkit with its plugin for APIs like OpenAI's: node genkit.mjs chat [stream].
import { openAICompatible } from '@genkit-ai/compat-oai';
import { genkit } from 'genkit';
import { exercise } from '../door-clients/exercise.mjs';

const mode = process.argv[3];
const { NESTOR_URL, NESTOR_TOKEN } = process.env;
const plugin = openAICompatible({ name: 'nestor', apiKey: NESTOR_TOKEN, baseURL: `${NESTOR_URL}/v1` });
const ai = genkit({ plugins: [plugin] });

await exercise({
  user: (text) => ({ role: 'user', content: [{ text }] }),
  text: (message) => message.content.map((part) => part.text ?? '').join(''),
  reply: async (role, messages, abortSignal) => {
    const options = { model: `nestor/${role}`, messages, abortSignal };
    if (mode !== 'stream') return (await ai.generate(options)).message;
    const { stream, response } = ai.generateStream(options);
    for await (const chunk of stream) void chunk;
    return (await response).message;
  },
});
process.exit(); // it keeps a server for its developer tools
