export type ChildEnvOptions = {
  /** Variables that hold credentials of providers. */
  readonly credentialNames: readonly string[];
  /** Credentials that the run knows: variables that contain one are left out too, whatever their names. */
  readonly secrets?: readonly string[];
  /** Variables that are passed on in spite of that. */
  readonly passEnv: readonly string[];
};

/**
 * The environment of child processes: without the credentials of providers, and such that pagers do not wait and
 * editors and password prompts fail at once.
 */
export function childEnv(
  env: Readonly<Record<string, string | undefined>>,
  { credentialNames, secrets = [], passEnv }: ChildEnvOptions,
): Record<string, string> {
  const result: Record<string, string> = {};
  const passed = new Set(passEnv);
  const credentials = new Set(credentialNames);
  const known = secrets.filter((secret) => secret.length >= minSecretLength);
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    const isCredential =
      credentials.has(name) ||
      providerCredential.test(name) ||
      (!proxyVariable.test(name) && known.some((secret) => value.includes(secret)));
    if (!isCredential || passed.has(name)) result[name] = value;
  }
  for (const name of terminalNames) delete result[name];
  return { ...result, ...unattended };
}

/** What commands reach the network through, the proxy's own password with it. */
const proxyVariable = /proxy$/i;

/** A shorter text may be part of any value by chance. */
const minSecretLength = 6;

/** The credentials of well-known model providers, whether or not this run is configured for them. */
const providerCredential = new RegExp(
  [
    "^(?:OPENAI|AZURE_OPENAI|ANTHROPIC|CLAUDE|CODEX|OPENROUTER|GROQ|DEEPSEEK|XAI|MISTRAL|TOGETHER|TOGETHERAI|FIREWORKS",
    "|CEREBRAS|GOOGLE|GOOGLE_GENERATIVE_AI|GEMINI|COHERE|CO|PERPLEXITY|MOONSHOT|KIMI|ZAI|ZHIPUAI|DASHSCOPE|MINIMAX",
    "|NVIDIA|OLLAMA|LMSTUDIO|LM|VLLM|LLAMACPP|LLAMA|AI_GATEWAY)_API_?KEY$",
    "|^(?:ANTHROPIC|CLAUDE|CLAUDE_CODE|OPENAI|OPENAI_CODEX|CODEX)_(?:AUTH_|OAUTH_|ACCESS_|REFRESH_)?TOKEN$",
    "|^AWS_BEARER_TOKEN_BEDROCK$",
  ].join(""),
);

/** Variables that name a terminal, which children do not have. */
const terminalNames = ["GPG_TTY", "SSH_TTY", "COLUMNS", "LINES"];

const unattended = {
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  GH_PAGER: "cat",
  AWS_PAGER: "",
  SYSTEMD_PAGER: "cat",
  // `false` fails where `true` would let an interactive rebase or a commit go through with whatever is there.
  EDITOR: "false",
  VISUAL: "false",
  GIT_EDITOR: "false",
  GIT_SEQUENCE_EDITOR: "false",
  GIT_MERGE_AUTOEDIT: "no",
  // Vim that is started by name, without keys on its stdin or in a script, would wait for them for ever.
  VIMINIT:
    "autocmd VimEnter * if index([resolve('/dev/stderr'),'/dev/null'],resolve('/dev/stdin'))>=0&&index(v:argv,'-s')<0|cquit|endif",
  GIT_TERMINAL_PROMPT: "0",
  SSH_ASKPASS: "false",
  SSH_ASKPASS_REQUIRE: "never",
  SUDO_ASKPASS: "/bin/false",
  DEBIAN_FRONTEND: "noninteractive",
  PIP_NO_INPUT: "1",
  TERM: "dumb",
} as const;
