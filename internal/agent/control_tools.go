// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"strings"
)

// The control tools as presented to the model.
var (
	askUserTool = Tool{Name: ToolAskUser,
		Description: "Ask the user a question when you cannot continue without the answer. " +
			"Ask one clear question; look for the answer yourself first.",
		Parameters: json.RawMessage(`{"type":"object","required":["question"],` +
			`"properties":{"question":{"type":"string",` +
			`"description":"The question, understandable without knowing your work"}}}`),
	}
	giveUpTool = Tool{Name: ToolGiveUp,
		Description: "Report that the task cannot be done, and end. Say what stands in the way.",
		Parameters: json.RawMessage(`{"type":"object","required":["error"],` +
			`"properties":{"error":{"type":"string","description":"Why the task could not be completed"}}}`),
	}
	replyTool = Tool{Name: ToolReply,
		Description: "Answer the question of an agent that waits: with what the user said, " +
			"or from the conversation if it holds the answer.",
		Parameters: json.RawMessage(`{"type":"object","required":["sub_agent","answer","confidence"],"properties":{` +
			`"sub_agent":{"type":"string","description":"The name of the agent that asks"},` +
			`"answer":{"type":"string"},` +
			`"confidence":{"type":"integer","minimum":0,"maximum":100,` +
			`"description":"How sure you are that this is what the user would answer"}}}`),
	}
	continueTool = Tool{Name: ToolContinue,
		Description: "Give follow-up work to an agent that has finished. It remembers what it did.",
		Parameters: json.RawMessage(`{"type":"object","required":["sub_agent","message"],"properties":{` +
			`"sub_agent":{"type":"string","description":"The name of the finished agent"},` +
			`"message":{"type":"string","description":"What it is to do next"}}}`),
	}
	titleTool = Tool{Name: ToolTitle,
		Description: "Give the conversation a short title, by which the user finds it again. " +
			"Call it once, beside your first answer; again only if the subject changes.",
		Parameters: json.RawMessage(`{"type":"object","required":["title"],` +
			`"properties":{"title":{"type":"string","description":"Three to eight words, in the user's language"}}}`),
	}
	cancelTool = Tool{Name: ToolCancel,
		Description: "Cancel a running task and everything below it.",
		Parameters: json.RawMessage(`{"type":"object","required":["task"],` +
			`"properties":{"task":{"type":"string","description":"The name of the task"}}}`),
	}
)

const submitProperties = `"summary":{"type":"string","description":"One or two sentences on what you accomplished"},` +
	`"details":{"type":"string","description":"Technical specifics"},` +
	`"files_modified":{"type":"array","items":{"type":"string"}},` +
	`"files_created":{"type":"array","items":{"type":"string"}},` +
	`"tests_run":{"type":"integer","minimum":0},` +
	`"tests_passed":{"type":"integer","minimum":0},` +
	`"warnings":{"type":"array","items":{"type":"string"}},` +
	`"suggestions":{"type":"array","items":{"type":"string"}}`

// submitTool returns submit_result. An agent with an OutputSchema must submit data too.
func submitTool(c Config) Tool {
	if c.Isolated {
		return Tool{Name: ToolSubmit,
			Description: "Submit your result and end. Only data is passed on: the rest of what you write is not.",
			Parameters: json.RawMessage(`{"type":"object","required":["data"],"additionalProperties":false,` +
				`"properties":{"data":` + string(c.OutputSchema) + `}}`),
		}
	}
	t := Tool{Name: ToolSubmit,
		Description: "Submit your final result and end. Call it once, alone, when the task is done. " +
			"Report only what you did and found.",
		Parameters: json.RawMessage(`{"type":"object","required":["result"],"properties":{` +
			`"result":{"type":"string","description":"The result in full"},` + submitProperties + `}}`),
	}
	if len(c.OutputSchema) > 0 {
		t.Description += " A program reads data; people and agents read the rest."
		t.Parameters = json.RawMessage(`{"type":"object","required":["result","data"],"properties":{` +
			`"result":{"type":"string","minLength":1,"description":"The result in words"},` +
			submitProperties + `,"data":` + string(c.OutputSchema) + `}}`)
	}
	return t
}

const contextSchema = `"context":{"type":"string","enum":["none","summary","full","selective"],` +
	`"description":"What the agent is shown beside its task: nothing (default), ` +
	`a summary of your conversation, all of it, or the contents of context_files"}`

func delegateTool(c Config) Tool {
	return Tool{Name: ToolDelegate,
		Description: "Delegate a task to an agent that is good at it. " +
			"It works on its own and returns a structured result.",
		Parameters: json.RawMessage(`{"type":"object","required":["role","task"],"properties":{` +
			`"role":{"type":"string","enum":` + toJSON(c.delegateNames()) + `},` +
			`"task":{"type":"string","description":"What the agent is to accomplish, clear without your context"},` +
			`"context_files":{"type":"array","items":{"type":"string"},` +
			`"description":"Files that it should read first"},` +
			`"success_criteria":{"type":"string","description":"When the task is done"},` +
			inputsSchema(c) + contextSchema + `}}`),
	}
}

// inputsSchema returns the schema of the inputs that an agent passes to an isolated role as references. It is empty for
// an agent that may not delegate to such a role.
func inputsSchema(c Config) string {
	isolated := c.isolatedNames()
	if len(isolated) == 0 {
		return ""
	}
	return `"inputs":{"type":"array","maxItems":16,"items":{"type":"object","properties":{` +
		`"file":{"type":"string","description":"A file of the workspace"},` +
		`"tool":{"type":"string","description":"One of your read-only tools"},` +
		`"arguments":{"type":"object","description":"The arguments of the tool"}}},` +
		`"description":` + toJSON("What the agent is to read: files, or calls of your read-only tools. "+
		"It gets the contents and you do not. Only for the roles "+strings.Join(isolated, ", ")) + `},`
}

func spawnTool(c Config) Tool {
	return Tool{Name: ToolSpawn,
		Description: "Start several agents at the same time: different perspectives, parts of a whole, " +
			"or alternatives. " +
			"Each works on its own; the results come back together.",
		Parameters: json.RawMessage(`{"type":"object","required":["tasks"],"properties":{` +
			`"tasks":{"type":"array","minItems":1,"items":{"type":"object","required":["task"],"properties":{` +
			`"task":{"type":"string","description":"What this agent is to accomplish, clear without your context"},` +
			`"role":{"type":"string","enum":` + toJSON(c.delegateNames()) + `,"description":"general by default"},` +
			`"cwd":{"type":"string","description":"The directory it works in, ` +
			`as a path from the root of the workspace; yours by default"}}}},` +
			`"wait":{"description":"all (default), any, or how many must succeed",` +
			`"anyOf":[{"type":"string","enum":["all","any"]},{"type":"integer","minimum":1}]}}}`),
	}
}
