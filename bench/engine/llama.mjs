// Answers lines of JSON about one GGUF file with llama.cpp: what it took, in seconds, and what it wrote.
// node llama.mjs FOLDER_WITH_NODE_LLAMA_CPP FILE.gguf THREADS; see beside_llama.py.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, modelPath, threads] = process.argv.slice(2);
const found = createRequire(`${folder}/package.json`).resolve("node-llama-cpp");
const { getLlama, LlamaCompletion } = await import(pathToFileURL(found).href);
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: Number(threads) });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 4096, batchSize: 512, threads: Number(threads) });
const sequence = context.getSequence();
const completion = new LlamaCompletion({ contextSequence: sequence, autoDisposeSequence: false });
process.stdout.write("ready\n");

for await (const line of createInterface({ input: process.stdin })) {
  const { text, schema } = JSON.parse(line);
  const tokens = model.tokenize(text, true);
  const grammar = schema && (await llama.createGrammarForJsonSchema(schema));
  if (!schema) await sequence.clearHistory();
  const begun = performance.now();
  let wrote = "";
  // A record's prompt goes on where it equals that of the one before, as its fields do.
  if (schema) wrote = await completion.generateCompletion(tokens, { grammar, temperature: 0, maxTokens: 1000 });
  else await sequence.evaluateWithoutGeneratingNewTokens(tokens);
  const seconds = (performance.now() - begun) / 1000;
  process.stdout.write(JSON.stringify({ seconds, tokens: tokens.length, wrote }) + "\n");
}
process.exit(0);
