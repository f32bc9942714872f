// mcp-remote between a client that speaks to a process and the gateway: a flow, and a token that is not valid.
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { exercise, form } from './exercise-mcp.mjs';

const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE } = process.env;
const program = 'node_modules/.bin/mcp-remote';
const env = { ...process.env, MCP_REMOTE_CONFIG_DIR: mkdtempSync(join(tmpdir(), 'mcp-remote-')), BROWSER: 'true' };
const options = ['--allow-http', '--transport', 'http-only', '--header'];
const args = (token) => [`${NESTOR_URL}/mcp/${NESTOR_NAMESPACE}`, ...options, `Authorization:Bearer ${token}`];

const client = new Client({ name: 'flow', version: '1.0.0' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async (request) => form(request.params));
await client.connect(new StdioClientTransport({ command: program, args: args(NESTOR_TOKEN), env, stderr: 'ignore' }));
const call = (name, input, signal) => client.callTool({ name, arguments: input }, undefined, { signal, timeout: 120000 });
await exercise(call);
await client.close();

// A token that is not valid: it ends, and says why.
const child = spawn(program, args('nonsense'), { env });
let said = '';
child.stderr.on('data', (data) => { said += data; });
const code = await new Promise((resolve) => { child.on('exit', resolve); });
assert.notEqual(code, 0);
assert.match(said, /Send a valid token of the cluster/, said);
console.log('ok');
process.exit();
