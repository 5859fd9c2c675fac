import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StartupError } from "../../src/contract/errors.ts";
import { type Invocation, parseArguments } from "../../src/flags/flags.ts";
import { defaultFlags, type Flags, optionGroups } from "../../src/flags/options.ts";
import { version } from "../../src/version.ts";

type Run = Extract<Invocation, { kind: "run" }>;

function run(...argv: string[]): Run {
  const invocation = parseArguments(argv);
  if (invocation.kind !== "run") throw new Error(`not a run but ${invocation.kind}`);
  return invocation;
}

function refusal(...argv: string[]): string {
  try {
    parseArguments(argv);
  } catch (error) {
    expect(error).toBeInstanceOf(StartupError);
    const { message } = error as StartupError;
    expect(message).not.toContain("\n");
    return message;
  }
  throw new Error(`${JSON.stringify(argv)} was not refused`);
}

describe("options", () => {
  test.each<[string[], Partial<Flags>]>([
    [[], {}],
    [["--mode", "json"], { mode: "json" }],
    [["--mode=JSON"], { mode: "json" }],
    [["-p"], {}],
    [["--print", "--mode", "json"], { mode: "json" }],
    [["--mode", "json", "--json-deltas"], { mode: "json", jsonDeltas: true }],
    [["--provider", "openai", "--model", " gpt-5.5:high "], { provider: "openai", model: "gpt-5.5:high" }],
    [["--model", "a", "--model", "b"], { model: "b" }],
    [["--thinking", "xhigh"], { thinking: "xhigh" }],
    [["--api-key", " sk "], { apiKey: "sk" }],
    [["--tools", "read, bash,read"], { tools: ["read", "bash"] }],
    [["--no-tools"], { noTools: true }],
    [["--system-prompt", " be brief "], { systemPrompt: " be brief " }],
    [["--append-system-prompt", "- x y"], { appendSystemPrompt: "- x y" }],
    [["--append-system-prompt", "-x"], { appendSystemPrompt: "-x" }],
    [["--append-system-prompt=--verbose is on"], { appendSystemPrompt: "--verbose is on" }],
    [["--system-prompt=a=b"], { systemPrompt: "a=b" }],
    [
      ["--no-context-files", "--cwd", "/x", "--session-dir", "/s"],
      { noContextFiles: true, cwd: "/x", sessionDir: "/s" },
    ],
    [["-c"], { continue: true }],
    [["-pc"], { continue: true }],
    [["-r", "abcd"], { resume: "abcd" }],
    [["--fork", "./a b.jsonl", "--name", "n"], { fork: "./a b.jsonl", name: "n" }],
    [["--no-session", "--name", "n"], { noSession: true, name: "n" }],
    [["--fork", "abcd", "--no-session"], { fork: "abcd", noSession: true }],
    [["--record", "r"], { record: "r" }],
    [["--replay", "r"], { replay: "r" }],
    [["--output-last-message", "o"], { outputLastMessage: "o" }],
    [["--offline", "--verbose"], { offline: true, verbose: true }],
    [["--stdin"], { stdin: "always" }],
    [["-"], { stdin: "always" }],
    [["--no-stdin"], { stdin: "never" }],
    [["--stdin-timeout", "1500"], { stdinTimeoutMs: 1500 }],
    [["--stdin-timeout", "0.5"], { stdinTimeoutMs: 1 }],
    [["--stdin-timeout", "99999999999999"], { stdinTimeoutMs: 2 ** 31 - 1 }],
    [["--pass-env", "A", "--pass-env", "B_1"], { passEnv: ["A", "B_1"] }],
  ])("%j", (argv, flags) => {
    expect(run(...argv)).toEqual({
      kind: "run",
      flags: { ...defaultFlags(), ...flags },
      messages: [],
      files: [],
    });
  });

  test.each<[string[], string]>([
    [
      ["--modle", "x"],
      "unknown option --modle: did you mean --model? (a message that starts with a dash goes after --)",
    ],
    [["--resum"], "unknown option --resum: did you mean --resume?"],
    [["--no-context"], "did you mean --no-context-files?"],
    [["--jsondeltas"], "did you mean --json-deltas?"],
    [["-resume", "x"], "unknown option -resume: did you mean --resume?"],
    [["-x"], "unknown option -x: did you mean --"],
    [["--apikey=sk-secret"], "unknown option --apikey: did you mean --api-key?"],
    [["---"], "unknown option ---"],
    [["--mode", "xml"], '--mode is one of text, json, rpc, acp, not "xml"'],
    [["--mode="], "--mode needs a value that is not blank"],
    [["--model", " "], "--model needs a value that is not blank"],
    [["--model", "--verbose"], "--model needs a value, but --verbose follows: write --model=VALUE"],
    [["--name", "--", "hi"], "--name needs a value, but -- follows: write --name=VALUE"],
    [["--resume", "-p"], "--resume needs a value, but -p follows"],
    [["--thinking", "hard"], '--thinking is one of off, minimal, low, medium, high, xhigh, max, not "hard"'],
    [["--verbose=1"], "--verbose takes no value: write --verbose alone"],
    [["--tools", "a,,b"], '--tools takes names with one comma between them, not "a,,b"'],
    [["--stdin-timeout", "0"], '--stdin-timeout is a positive number, not "0"'],
    [["--stdin-timeout", "-5"], '--stdin-timeout is a positive number, not "-5"'],
    [["--stdin-timeout", "3s"], '--stdin-timeout is a positive number, not "3s"'],
    [["--stdin-timeout", "0x10"], "is a positive number"],
    [["--stdin-timeout", "Infinity"], "is a positive number"],
    [["--stdin-timeout", "NaN"], "is a positive number"],
    [["--pass-env", "A=secret"], '--pass-env takes the name of an environment variable, not "A=..."'],
    [["--json-deltas"], "--json-deltas needs --mode json"],
    [["--json-deltas", "--mode", "text"], "--json-deltas needs --mode json"],
    [["-c", "-r", "abcd"], "--continue and --resume exclude each other: give only one of them"],
    [["-c", "--fork", "abcd"], "--continue and --fork exclude each other"],
    [["-r", "a", "--fork", "abcd"], "--resume and --fork exclude each other"],
    [["--no-session", "-c"], "--no-session and --continue exclude each other"],
    [["--no-session", "-r", "a"], "--no-session and --resume exclude each other"],
    [["--tools", "read", "--no-tools"], "--tools and --no-tools exclude each other"],
    [["--stdin", "--no-stdin"], "--stdin and --no-stdin exclude each other"],
    [["--record", "a", "--replay", "b"], "--record and --replay exclude each other"],
    [["@"], "@ needs a file name (to send it as text: -- @)"],
  ])("%j is refused", (argv, message) => {
    expect(refusal(...argv, "hi")).toContain(message);
  });

  test("a value that is missing at the end is refused", () => {
    expect(refusal("hi", "--model")).toBe("--model needs a value");
  });
});

describe("messages and files", () => {
  const message = (text: string, literal = false) => ({ text, literal });
  test.each<[string[], object[], string[]]>([
    [["hi"], [message("hi")], []],
    [["a", "--verbose", "b"], [message("a"), message("b")], []],
    [["- fix the test"], [message("- fix the test")], []],
    [["---\ntitle: x\n---\ndo it"], [message("---\ntitle: x\n---\ndo it")], []],
    [["--mode json please"], [message("--mode json please")], []],
    [["-c\t"], [message("-c\t")], []],
    [[""], [message("")], []],
    [["/compact"], [message("/compact")], []],
    [["@a.ts", "look", "@b c.ts"], [message("look")], ["a.ts", "b c.ts"]],
    [
      ["--", "--help", "@x", "/y", "--", ""],
      ["--help", "@x", "/y", "--", ""].map((text) => message(text, true)),
      [],
    ],
    [["@f", "a", "--", "b"], [message("a"), message("b", true)], ["f"]],
    [["--", "list"], [message("list", true)], []],
    [["please", "models"], [message("please"), message("models")], []],
    [["Models"], [message("Models")], []],
    [["models are fun"], [message("models are fun")], []],
  ])("%j", (argv, messages, files) => {
    expect(run(...argv)).toMatchObject({ messages, files });
  });

  test("whatever stands behind -- arrives as it is", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        expect(run("--", ...texts).messages.map(({ text }) => text)).toEqual(texts);
      }),
    );
  });

  test("any words are read or refused with one line", () => {
    const spellings = optionGroups.flatMap(({ options }) => options.map(({ name }) => name as string));
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom(...spellings, "-c", "-r", "--", "-", "@", "@f", "hi", "-pc"),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (argv) => {
        try {
          parseArguments(argv);
        } catch (error) {
          expect(error).toBeInstanceOf(StartupError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe("commands", () => {
  test.each<[string[], object]>([
    [["models"], { kind: "command", name: "models", action: "list", json: false }],
    [
      ["models", "--json", "opus"],
      { kind: "command", name: "models", action: "list", json: true, search: "opus" },
    ],
    [["models", "refresh"], { kind: "command", name: "models", action: "refresh" }],
    [["schema"], { kind: "command", name: "schema", deltas: false }],
    [["schema", "--deltas"], { kind: "command", name: "schema", deltas: true }],
  ])("%j", (argv, invocation) => {
    expect(parseArguments(argv)).toEqual(invocation);
  });

  test.each<[string[], string]>([
    [
      ["models", "all", "things"],
      "models takes 0 to 1 argument, not 2: base-context models [search], base-context models refresh",
    ],
    [["models", "--jsn"], "unknown option --jsn: did you mean --json?"],
    [["models", "refresh", "--json"], "models refresh takes no --json"],
    [["schema", "x"], "schema takes no arguments, not 1: base-context schema"],
    [["schema", "--mode"], "unknown option --mode: did you mean --deltas?"],
  ])("%j is refused", (argv, message) => {
    expect(refusal(...argv)).toContain(message);
  });
});

describe("help", () => {
  test.each([[["-h"]], [["--help"]], [["hi", "--help"]], [["--model", "x", "-h", "--bogus"]]])(
    "%j",
    (argv) => {
      expect(parseArguments(argv)).toMatchObject({ kind: "help" });
    },
  );

  test.each([[["-v"]], [["--version"]]])("%j asks for the version", (argv) => {
    expect(parseArguments(argv)).toEqual({ kind: "version" });
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
  });

  test("of a command tells its forms and options", () => {
    expect(parseArguments(["models", "--help"])).toEqual({
      kind: "help",
      text: `Usage:
  base-context models [search]  List the models that can be asked
  base-context models refresh   Fetch the public model catalog into the home folder

Options:
  --json      As a JSON array
  -h, --help  Show this help
`,
    });
  });

  test("fits into 100 columns, names every option and is what docs/cli.md shows", () => {
    const { text } = parseArguments(["-h"]) as Extract<Invocation, { kind: "help" }>;
    expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
    for (const { options } of optionGroups)
      for (const { name } of options) expect(text).toContain(`${name} `);
    const page = readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8");
    expect(page).toContain(`\`\`\`text\n${text}\`\`\`\n`);
  });
});
