// Mastra: an agent whose model is a role: node mastra.mjs chat [stream].
import { Agent } from '@mastra/core/agent';
import { exercise } from '../door-clients/exercise.mjs';

const mode = process.argv[3];
const { NESTOR_URL, NESTOR_TOKEN } = process.env;

await exercise({
  user: (content) => ({ role: 'user', content }),
  text: (message) => message.content,
  reply: async (role, messages, abortSignal) => {
    const model = { id: `nestor/${role}`, url: `${NESTOR_URL}/v1`, apiKey: NESTOR_TOKEN };
    const agent = new Agent({ id: 'release', name: 'Release', instructions: 'Be brief.', model });
    if (mode !== 'stream') {
      const result = await agent.generate(messages, { abortSignal });
      if (result.error) throw result.error;
      abortSignal?.throwIfAborted(); // otherwise it returns an empty text
      return { role: 'assistant', content: result.text };
    }
    const result = await agent.stream(messages, { abortSignal });
    await result.consumeStream();
    if (result.error) throw result.error;
    abortSignal?.throwIfAborted();
    return { role: 'assistant', content: await result.text };
  },
});
process.exit();
