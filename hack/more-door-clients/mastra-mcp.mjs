// Mastra's client of MCP, with requests for input.
import { InternalMastraMCPClient } from '@mastra/mcp';
import { exercise, form } from './exercise-mcp.mjs';

const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE } = process.env;
const server = {
  url: new URL(`${NESTOR_URL}/mcp/${NESTOR_NAMESPACE}`),
  requestInit: { headers: { Authorization: `Bearer ${NESTOR_TOKEN}` } },
  timeout: 120000,
  inputRequests: async ({ params }) => form(params),
};
const client = new InternalMastraMCPClient({ name: 'nestor', server });
await client.connect();
const tools = await client.tools();
await exercise(async (name, args, abortSignal) => {
  let result;
  try {
    result = await tools[name].execute(args, { abortSignal });
  } catch (error) { // also for a result that is an error
    if (abortSignal?.aborted) throw error;
    return { content: [{ text: error.message }], isError: true };
  }
  // A result with structured content is returned without the rest.
  if (result.content) return result;
  return { content: [{ text: JSON.stringify(result) }], structuredContent: result };
});
await client.disconnect();
console.log('ok');
process.exit();
