// Runs a flow over MCP: node mcp.mjs URL TOKEN REVISION ROLE INSTRUCTION. It answers each form, and prints what it saw as JSON.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const [url, token, revision, role, instruction] = process.argv.slice(2)
const client = new Client({ name: 'flow', version: '1.0.0' }, {
  capabilities: { elicitation: {} },
  versionNegotiation: { mode: revision === 'legacy' ? 'legacy' : { pin: revision } },
})
const forms = []
let progress = 0
client.setRequestHandler('elicitation/create', async request => {
  forms.push(request.params.message)
  const fields = request.params.requestedSchema.properties
  return { action: 'accept', content: fields.decision ? { decision: 'approve' } : { answer: 'Green' } }
})
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }))
const { tools } = await client.listTools()
const result = await client.callTool({ name: 'run_agent', arguments: { role, instruction } }, { timeout: 120000, onprogress: () => { progress++ } })
console.log(JSON.stringify({ tools: tools.map(t => t.name), forms, progress, result }))
await client.close()
