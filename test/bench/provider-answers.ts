import type { ScriptedCall } from "../support/chat-wire.ts";

/** What the model says in one turn. */
export type Answer = { readonly text?: readonly string[]; readonly calls?: readonly ScriptedCall[] };

/**
 * The answer of turn `turn` (from 1) of a script:
 *
 * - `text-N`: N deltas
 * - `paced-N`: N deltas with the time of sending
 * - `echo-N`: N calls of a shell, each in a turn of its own
 * - `kilobytes-N`: the same, each with 50 KB of output
 */
export function answerOf(script: string, turn: number, tool: string | undefined): Answer {
  const [kind = "", count = "1"] = script.split("-");
  const steps = Number(count);
  if (kind === "text") return longAnswer(steps);
  if (kind === "paced") return { text: Array.from({ length: steps }, () => `t${"0".repeat(20)} `) };
  if (turn > steps) return { text: words(10) };
  const command = commands[kind]?.(turn) ?? "true";
  return {
    calls: [{ id: `call_${turn}`, name: tool ?? "bash", args: shellTools[tool ?? "bash"]?.(command) ?? {} }],
  };
}

const commands: Readonly<Record<string, (turn: number) => string>> = {
  echo: (turn) => `echo ${turn}`,
  kilobytes: (turn) =>
    `yes 'a line of output that is some fifty bytes in size' | head -c 50000; echo ${turn}`,
};

/** How a shell's command is given, by the tool's name. */
const shellTools: Readonly<Record<string, (command: string) => object>> = {
  bash: (command) => ({ command }),
  Bash: (command) => ({ command, description: "Print" }),
  run_shell_command: (command) => ({ command }),
  exec_command: (cmd) => ({ cmd }),
  shell_command: (command) => ({ command }),
  shell: (command) => ({ command: ["sh", "-c", command] }),
};

/** The shell among the tools of a request. */
export function toolOf(body: string): string | undefined {
  return Object.keys(shellTools).find((name) => body.includes(`"name":"${name}"`));
}

/** Always the same object for a count, so that what is made from it can be kept. */
function longAnswer(count: number): Answer {
  const answer = longAnswers.get(count) ?? { text: words(count) };
  longAnswers.set(count, answer);
  return answer;
}

const longAnswers = new Map<number, Answer>();

function words(count: number): string[] {
  return Array.from({ length: count }, (_, index) => vocabulary[index % vocabulary.length] ?? "");
}

const vocabulary = ["The ", "answer ", "grows ", "word ", "by ", "word ", "until ", "it ", "ends.\n"];
