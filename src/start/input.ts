import { constants, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { errorMessage, StartupError } from "../contract/errors.ts";
import type { ImageContent } from "../contract/messages.ts";

/** One prompt of the command line. */
export type Prompt = {
  /** What stdin and the files said; it comes before the text. */
  readonly attached: string;
  readonly text: string;
  readonly images: readonly ImageContent[];
  /** The text is taken as it is: a leading `/` starts no command. */
  readonly literal: boolean;
};

/** Standard input as the process found it. */
export type Stdin = {
  /** `none`: a terminal, or nothing that can be read. `file`: has its end (a file, /dev/null). `pipe`: may be silent. */
  readonly kind: "none" | "file" | "pipe";
  /** Opens it; destroying the stream lets go of it. */
  readonly stream: () => NodeJS.ReadableStream & { destroy(): void };
};

export type InputOptions = {
  readonly messages: readonly { readonly text: string; readonly literal: boolean }[];
  /** `@file` arguments, without the `@`. */
  readonly files: readonly string[];
  readonly cwd: string;
  readonly stdin: Stdin;
  /** `always` waits as long as it takes, `never` does not look. */
  readonly readStdin: "auto" | "always" | "never";
  /** How long a pipe may stay silent when there is a message, in milliseconds. */
  readonly stdinTimeoutMs: number;
  readonly signal: AbortSignal;
  readonly warn: (line: string) => void;
};

const maxInputBytes = 64 * 1024 * 1024;

/**
 * Gathers the prompts: the first one is what stdin says, then the files, then the first message; each further message
 * is a prompt of its own. Throws a StartupError when there is nothing to say or a file cannot be read.
 */
export async function readPrompts(options: InputOptions): Promise<Prompt[]> {
  const { messages, files } = options;
  if (messages.some(({ text }) => text.trim() === ""))
    throw new StartupError(
      'a message is empty; pass a prompt, for instance base-context "What does this project do?"',
    );
  const attachments = [];
  for (const file of files) attachments.push(await readAttachment(file, options.cwd));
  const piped = await readStdin(options);
  const attached = [piped, ...attachments.map(({ text }) => text)].filter((text) => text !== "").join("\n\n");
  if (attached === "" && messages.length === 0)
    throw new StartupError(
      "there is no message; pass one as an argument or on stdin (see base-context --help)",
    );
  const first: Prompt = {
    attached,
    text: messages[0]?.text ?? "",
    images: attachments.flatMap(({ image }) => (image === undefined ? [] : [image])),
    literal: messages[0]?.literal !== false,
  };
  return [first, ...messages.slice(1).map((message) => ({ ...message, attached: "", images: [] }))];
}

async function readStdin(options: InputOptions): Promise<string> {
  const { stdin, readStdin: when, warn } = options;
  if (when === "never" || (stdin.kind === "none" && when !== "always")) return "";
  /** Then the run goes on without it when it cannot be had. */
  const isOptional = when === "auto" && options.messages.length > 0;
  const input = await drain(stdin.stream(), {
    ...(isOptional && stdin.kind === "pipe" ? { firstByteMs: options.stdinTimeoutMs } : {}),
    signal: options.signal,
  });
  switch (input.kind) {
    case "whole":
      return toText(input.bytes);
    case "silent":
      warn(
        `stdin is open but said nothing for ${options.stdinTimeoutMs} ms; going on without it ` +
          "(--stdin waits for it, --no-stdin never looks)",
      );
      return "";
    case "failed":
      // nohup, for one, leaves a stdin that cannot be read.
      if (!isOptional)
        throw new StartupError(`stdin cannot be read (${input.message}); pass the message as an argument`);
      warn(`stdin cannot be read (${input.message}); going on without it (--no-stdin never looks)`);
      return "";
  }
}

function toText(bytes: Buffer): string {
  const text = bytes.toString("utf8").replace(/^\uFEFF/, "");
  return text.trim() === "" ? "" : text.replace(/\r?\n$/, "");
}

/** What came of reading stdin. `silent`: the first byte took too long. */
type Input =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  | { readonly kind: "silent" }
  | { readonly kind: "failed"; readonly message: string };

/** Reads to the end. Always lets go of the stream. Rejects with the signal's reason when that is aborted. */
function drain(
  stream: ReturnType<Stdin["stream"]>,
  { firstByteMs, signal }: { firstByteMs?: number; signal: AbortSignal },
): Promise<Input> {
  return new Promise((resolvePromise, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (input: Input) => done(() => resolvePromise(input));
    const timer =
      firstByteMs === undefined ? undefined : setTimeout(() => end({ kind: "silent" }), firstByteMs);
    const onAbort = () => done(() => reject(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    stream.on("data", (chunk: Buffer) => {
      clearTimeout(timer);
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxInputBytes) done(() => reject(tooLong()));
    });
    stream.on("end", () => afterSignals(() => end({ kind: "whole", bytes: Buffer.concat(chunks) })));
    stream.on("error", ({ message }: Error) => end({ kind: "failed", message }));
    if (signal.aborted) onAbort();

    function done(settle: () => void): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      stream.destroy();
      settle();
    }
  });
}

/**
 * Calls back once a signal that came before now has been heard: Ctrl-C ends the writer of the pipe, too, and Node tells
 * of the signal last, in this turn of the event loop or in the next one.
 */
function afterSignals(call: () => void): void {
  setImmediate(() => setImmediate(call));
}

function tooLong(): StartupError {
  return new StartupError(
    `stdin holds more than ${maxInputBytes} bytes; pass a file for the model to read instead`,
  );
}

async function readAttachment(file: string, cwd: string): Promise<{ text: string; image?: ImageContent }> {
  const path = resolve(cwd, file.startsWith("~/") ? `${homedir()}${file.slice(1)}` : file);
  const bytes = await readWhole(path, file);
  const mimeType = imageType(bytes);
  if (mimeType !== undefined)
    return {
      text: `<file name="${path}"></file>`,
      image: { type: "image", mimeType, data: bytes.toString("base64") },
    };
  if (bytes.includes(0))
    throw new StartupError(
      `@${file} cannot be read: it is binary and no image; give the model its path instead`,
    );
  const text = bytes.toString("utf8").replace(/^\uFEFF/, "");
  return { text: `<file name="${path}">\n${text.replace(/\n$/, "")}\n</file>` };
}

async function readWhole(path: string, file: string): Promise<Buffer> {
  // To open a pipe that nobody writes to would wait for ever, and no signal ends that.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw new StartupError(
      `@${file} cannot be read: ${errorMessage(error)}; check the path, or pass -- before a message that starts with @`,
    );
  });
  try {
    refuse(await handle.stat(), file);
    return await handle.readFile();
  } catch (error) {
    if (error instanceof StartupError) throw error;
    throw new StartupError(`@${file} cannot be read: ${errorMessage(error)}`);
  } finally {
    await handle.close();
  }
}

function refuse(stats: Stats, file: string): void {
  if (stats.isDirectory())
    throw new StartupError(`@${file} is a directory; name files, or let the model list it`);
  if (!stats.isFile())
    throw new StartupError(`@${file} is not a regular file; pipe its content to stdin instead`);
  if (stats.size > maxInputBytes)
    throw new StartupError(`@${file} is larger than ${maxInputBytes} bytes; give the model its path instead`);
}

const imageSignatures: readonly (readonly [mimeType: string, head: RegExp])[] = [
  ["image/png", /^89504e470d0a1a0a/],
  ["image/jpeg", /^ffd8ff/],
  ["image/gif", /^47494638(37|39)61/],
  ["image/webp", /^52494646.{8}57454250/],
];

function imageType(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 16).toString("hex");
  return imageSignatures.find(([, pattern]) => pattern.test(head))?.[0];
}
