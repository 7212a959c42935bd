// The documented contract, asked by the official client for Node: `node contract.cjs URL MODEL FOLDER`, where FOLDER has
// node_modules/openai. It prints the names of the checks that hold, and ends with status 1 at the first that does not.
"use strict";
const assert = require("node:assert/strict");
const path = require("node:path");
const [url, model, folder] = process.argv.slice(2);
const OpenAI = require(path.join(folder, "node_modules", "openai"));

const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0 });
const schema = {
  type: "object",
  properties: { number: { type: ["string", "null"], maxLength: 8 }, total: { type: ["number", "null"], maximum: 999 } },
  required: ["number", "total"],
  additionalProperties: false,
};
const format = { type: "json_schema", json_schema: { name: "bill", schema, strict: true } };
const tool = { type: "function", function: { name: "save", parameters: schema } };
const asked = { model, messages: [{ role: "user", content: "Number: A-7\nTotal: 5.00\n" }], max_tokens: 100 };
const isRecord = (text) => {
  const record = JSON.parse(text);
  assert.deepEqual(Object.keys(record), ["number", "total"]);
  return record;
};
const refused = async (promise, param) => {
  const error = await promise.then(() => assert.fail("expected an error"), (found) => found);
  assert.ok(error instanceof OpenAI.APIError, String(error));
  assert.equal(error.param, param);
  assert.ok(error.requestID);
  return error;
};
const every = async (stream) => {
  const found = [];
  for await (const chunk of stream) found.push(chunk);
  return found;
};

const checks = {
  async models() {
    const listed = await every(await client.models.list());
    assert.deepEqual(listed.map((one) => one.id), [model]);
    assert.equal((await client.models.retrieve(model)).id, model);
  },
  async schema() {
    const answer = await client.chat.completions.create({ ...asked, response_format: format });
    isRecord(answer.choices[0].message.content);
    assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
    assert.ok(answer.usage.prompt_tokens_details.cached_tokens >= 0);
  },
  async efforts() {
    for (const effort of ["instant", "low", "medium", "high"]) {
      const answer = await client.chat.completions.create({ ...asked, response_format: format, reasoning_effort: effort });
      isRecord(answer.choices[0].message.content);
    }
  },
  async stream() {
    const options = { ...asked, response_format: format, stream: true, stream_options: { include_usage: true } };
    const chunks = await every(await client.chat.completions.create(options));
    const last = chunks.pop();
    assert.ok(last.usage.completion_tokens > 0);
    isRecord(chunks.map((one) => one.choices[0].delta.content ?? "").join(""));
    assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
  },
  async helper() {
    const runner = client.chat.completions.stream({ ...asked, response_format: format });
    isRecord((await runner.finalChatCompletion()).choices[0].message.content);
  },
  async diffusing() {
    const options = { ...asked, response_format: format, stream: true, diffusing: true };
    const chunks = await every(await client.chat.completions.create(options));
    chunks.pop();
    assert.ok(chunks.length > 1);
    for (const one of chunks) isRecord(one.choices[0].delta.content);
  },
  async tools() {
    for (const choice of ["required", { type: "function", function: { name: "save" } }]) {
      const answer = await client.chat.completions.create({ ...asked, tools: [tool], tool_choice: choice });
      assert.equal(answer.choices[0].finish_reason, "tool_calls");
      isRecord(answer.choices[0].message.tool_calls[0].function.arguments);
    }
  },
  async parameters() {
    const more = { n: 1, seed: 1, user: "u", metadata: { a: "b" }, reasoning_summary: true, realtime: true, top_p: 1 };
    isRecord((await client.chat.completions.create({ ...asked, ...more, response_format: format })).choices[0].message.content);
  },
  async errors() {
    const create = (more) => client.chat.completions.create({ ...asked, ...more });
    assert.ok((await refused(create({ response_format: format, n: 2 }), "n")) instanceof OpenAI.BadRequestError);
    assert.equal((await refused(create({ response_format: format, best: 1 }), "best")).code, "unknown_parameter");
    assert.ok((await refused(create({ model: "gpt" }), "model")) instanceof OpenAI.NotFoundError);
    const wrong = { type: "json_schema", json_schema: { name: "x", schema: { type: "string", pattern: "(a)\\1" } } };
    const error = await refused(create({ response_format: wrong }), "response_format.json_schema.schema");
    assert.equal(error.error.pointer, "/pattern");
  },
  async extract() {
    const content = Buffer.from("Number: A-7\nTotal: 5.00\n").toString("base64");
    const body = { schema, files: [{ name: "a.txt", content }], on_missing: "guess" };
    const answer = await client.post("/extract", { body });
    assert.equal(answer.results.length, 1);
    isRecord(JSON.stringify(answer.results[0].record));
  },
  async abort() {
    const left = new AbortController();
    const options = { signal: left.signal };
    const promise = client.chat.completions.create({ ...asked, response_format: format }, options);
    left.abort();
    await promise.then(() => assert.fail("expected an abort"), (error) => assert.ok(error instanceof OpenAI.APIUserAbortError));
  },
};
const chatting = {
  async text() {
    assert.equal(typeof (await client.chat.completions.create(asked)).choices[0].message.content, "string");
    const object = await client.chat.completions.create({ ...asked, response_format: { type: "json_object" } });
    assert.equal(typeof JSON.parse(object.choices[0].message.content), "object");
  },
  async auto() {
    const answer = await client.chat.completions.create({ ...asked, tools: [tool], tool_choice: "auto" });
    const call = answer.choices[0].message.tool_calls?.[0] ?? { id: "call_1", type: "function", function: { name: "save", arguments: "{}" } };
    const messages = [
      ...asked.messages,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: "saved" },
    ];
    assert.ok((await client.chat.completions.create({ ...asked, messages, tools: [tool] })).choices.length);
  },
  async fim() {
    const body = { model, prompt: "def f(", suffix: "):\n", max_tokens: 20 };
    assert.equal(typeof (await client.post("/fim/completions", { body })).choices[0].text, "string");
  },
  async edit() {
    const text = "<|current_file_content|>\nx\n<|code_to_edit|>\ny\n<|/code_to_edit|>\n<|/current_file_content|>";
    const body = { model, messages: [{ role: "user", content: text }], max_tokens: 60 };
    assert.match((await client.post("/edit/completions", { body })).choices[0].message.content, /^```/);
  },
};

(async () => {
  const { abilities } = await client.models.retrieve(model);
  for (const [name, check] of Object.entries(abilities.includes("chat") ? { ...checks, ...chatting } : checks)) {
    await check();
    console.log(name);
  }
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
