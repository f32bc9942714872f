// Runs a flow over AG-UI: node agui.mjs URL TOKEN INSTRUCTION. It answers each interrupt, and prints what it saw as JSON.
import { HttpAgent } from '@ag-ui/client'

const [url, token, instruction] = process.argv.slice(2)
const agent = new HttpAgent({ url, headers: { Authorization: `Bearer ${token}` } })
const seen = { interrupts: [], types: [], outcome: '', error: '' }
const subscriber = {
  onEvent: ({ event }) => { seen.types.push(event.type) },
  onRunFinishedEvent: ({ outcome }) => { seen.outcome = outcome },
  onRunErrorEvent: ({ event }) => { seen.error = event.message },
}
agent.addMessage({ id: 'm1', role: 'user', content: instruction })
await agent.runAgent({}, subscriber)
for (let round = 0; agent.pendingInterrupts.length > 0 && round < 5; round++) {
  const [interrupt] = agent.pendingInterrupts
  seen.interrupts.push(interrupt)
  const payload = interrupt.reason === 'tool_call' ? { approved: true } : { answer: 'Green' }
  await agent.runAgent({ resume: [{ interruptId: interrupt.id, status: 'resolved', payload }] }, subscriber)
}
console.log(JSON.stringify({ ...seen, messages: agent.messages, state: agent.state }))
