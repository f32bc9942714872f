// mcp-use, with forms.
import { MCPClient } from 'mcp-use/client';
import { exercise, form } from './exercise-mcp.mjs';

const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE } = process.env;
const server = { url: `${NESTOR_URL}/mcp/${NESTOR_NAMESPACE}`, headers: { Authorization: `Bearer ${NESTOR_TOKEN}` } };
const client = new MCPClient({ mcpServers: { nestor: server } }, { onElicitation: async (params) => form(params) });
const session = await client.createSession('nestor');
await exercise((name, args, signal) => session.callTool(name, args, { signal, timeout: 120000 }));
await client.closeAllSessions();
console.log('ok');
process.exit();
